"""The tour of SPEC §12: plays the product over its public HTTP API and holds every promise against ledger and till."""
