"""Implements the HTTP binding: one route table, request middleware, and clients' dialects."""
