"""Implements FETCH: finds the next jobs of a queue, and claims them."""
