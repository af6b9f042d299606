"""The tool loop: durable runs of one customer message each."""
