"""The HTTP surface: one router a subject."""
