"""The tick function."""
