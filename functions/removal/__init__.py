"""Holds the entry point of the function that removes data with the stack."""
