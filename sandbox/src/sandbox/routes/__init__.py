"""One module per system the store already has, plus the controls tests use."""
