"""Measures the agent's tool loop beside a bare SDK loop: same model server, same calls, same rows to lose nothing."""
