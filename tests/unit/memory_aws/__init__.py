"""The adapters, without a table."""
