"""Stores what executions leave: results, progress and checkpoints."""
