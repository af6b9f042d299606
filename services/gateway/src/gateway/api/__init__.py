"""The HTTP routes, grouped by who calls them."""
