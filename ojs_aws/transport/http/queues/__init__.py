"""Queues and their settings over HTTP."""
