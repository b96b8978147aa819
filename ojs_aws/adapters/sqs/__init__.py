"""The SQS queues behind the OJS queues."""
