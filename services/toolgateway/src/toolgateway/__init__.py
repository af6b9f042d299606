"""Every tool, the policy, the action ledger and the payment adapters."""
