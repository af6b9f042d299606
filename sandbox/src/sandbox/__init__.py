"""Stand-ins for what the store already has, and a model server."""
