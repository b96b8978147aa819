"""Metrics of both chains, and the sinks that they are written to."""
