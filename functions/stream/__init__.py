"""The stream function."""
