"""The system function."""
