"""Serves workflows over HTTP."""
