"""The worker_api function."""
