"""Defines the resources of a backend: table, queues, buckets, and findings accepted on them."""
