"""What the tool gateway decides: pure functions over frozen facts, tested as tables."""
