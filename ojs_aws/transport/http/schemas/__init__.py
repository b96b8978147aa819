"""Serves the schema registry over HTTP."""
