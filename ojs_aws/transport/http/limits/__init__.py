"""Limits over HTTP."""
