"""Staff decisions, the handoff queue and the staff console."""
