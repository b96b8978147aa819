"""Helps to test jobs."""
