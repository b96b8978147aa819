"""Implements workflows as values: the graph, its progress, and the changes."""
