"""Holds the migrations of the outbox's table."""
