"""Holds the entry point of the function that publishes events."""
