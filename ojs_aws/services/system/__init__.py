"""Counts over the whole deployment."""
