"""Compares and orders the schemas of job types."""
