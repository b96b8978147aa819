"""Measure jobs in both chains, and write the metrics to a sink."""
