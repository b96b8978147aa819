"""The event log in the table."""
