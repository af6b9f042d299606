"""Pure rules: what a staff member may do, and how a handoff moves."""
