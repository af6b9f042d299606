"""The rules of SPEC §4: pure functions from what was read in a message to where it goes."""
