"""Enqueues and changes many jobs, with a result for each."""
