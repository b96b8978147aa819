"""Stores the event log in the table."""
