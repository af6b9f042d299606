"""Intent, language, sentiment and route of a message."""
