"""Lifecycle events over HTTP."""
