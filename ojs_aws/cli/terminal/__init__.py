"""Reads what people write at a terminal, and prints what commands answer."""
