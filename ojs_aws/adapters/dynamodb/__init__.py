"""Stores jobs, queues, workers and events in one DynamoDB table."""
