"""Serves results, progress and checkpoints over HTTP."""
