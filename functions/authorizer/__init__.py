"""Holds the entry point of the function that finds the caller of a request."""
