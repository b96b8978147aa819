"""Says which functions, endpoints and tasks run the jobs of queues."""
