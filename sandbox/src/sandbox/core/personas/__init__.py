"""Simulated models: each sees exactly what a real model would see and answers with one turn."""
