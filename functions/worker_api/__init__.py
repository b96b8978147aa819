"""Holds the entry point of the function that serves workers over HTTP."""
