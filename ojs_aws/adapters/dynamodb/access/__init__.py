"""Stores API keys and client rate buckets in the table."""
