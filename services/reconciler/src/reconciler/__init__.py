"""Finds what hangs and has its owner finish it."""
