"""Schemas of job types and the changes between their versions."""
