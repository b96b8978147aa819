"""Implements the SQS queues behind the OJS queues."""
