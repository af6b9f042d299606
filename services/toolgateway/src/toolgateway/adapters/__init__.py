"""Everything the tool gateway awaits: the ledger, the store's systems, the payment provider, people's records."""
