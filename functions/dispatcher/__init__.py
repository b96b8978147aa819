"""Holds the entry point of the function that dispatches jobs to other functions."""
