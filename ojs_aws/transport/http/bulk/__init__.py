"""Serves bulk operations on jobs, with a result for each."""
