"""Fixed flows, grounded answers, the tool loop, conversations and handoffs."""
