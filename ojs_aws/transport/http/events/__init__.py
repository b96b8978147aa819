"""Serves lifecycle events over HTTP."""
