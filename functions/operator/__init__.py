"""The operator function."""
