"""Manages queues: their settings, bounds, counters and statistics."""
