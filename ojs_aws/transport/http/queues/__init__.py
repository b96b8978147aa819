"""Serves queues and their settings over HTTP."""
