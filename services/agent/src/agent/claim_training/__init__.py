"""How the reply check's second reader is made; nothing a service imports."""
