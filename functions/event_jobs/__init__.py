"""Holds the entry point of the function that enqueues the jobs of events."""
