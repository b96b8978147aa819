"""Limits the rate and concurrency of jobs that begin."""
