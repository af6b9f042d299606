"""Pure: is the threshold safe, and when to try again."""
