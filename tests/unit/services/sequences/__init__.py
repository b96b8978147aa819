"""Sequences: what the services decide."""
