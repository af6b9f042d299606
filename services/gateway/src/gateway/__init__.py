"""Channels, login, message idempotency and server-sent events."""
