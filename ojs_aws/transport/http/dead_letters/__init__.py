"""Serves dead letters over HTTP."""
