"""Where the stand-ins keep their state, and the one outside call they make (webhooks)."""
