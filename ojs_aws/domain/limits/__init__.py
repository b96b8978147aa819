"""Limits how many jobs begin, and how many requests API clients make."""
