"""Holds the entry point of the function that describes the backend."""
