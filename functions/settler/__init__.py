"""Holds the entry point of the function that settles dispatched jobs."""
