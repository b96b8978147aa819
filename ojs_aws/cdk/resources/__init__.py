"""The resources of a backend: table, queues, buckets, and the findings accepted on them."""
