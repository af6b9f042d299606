"""The history checker C1–C10: one SQL file a rule, and a command that runs them over a running system."""
