"""Holds the entry point of the function that serves senders and workers without a gateway."""
