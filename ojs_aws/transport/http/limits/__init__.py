"""Serves limits over HTTP."""
