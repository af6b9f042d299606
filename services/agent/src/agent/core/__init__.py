"""What the agent decides, without touching the world."""
