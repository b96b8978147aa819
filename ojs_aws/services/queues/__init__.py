"""Queues: their settings, bounds, counters and statistics."""
