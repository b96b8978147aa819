"""The HTTP binding: one route table, request middleware, and the clients' dialects."""
