"""Holds one module per operation: load, let the domain decide, write once with a condition."""
