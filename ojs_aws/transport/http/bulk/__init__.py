"""Bulk operations on jobs, with a result for each."""
