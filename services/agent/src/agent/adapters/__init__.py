"""Everything the agent awaits on the outside world."""
