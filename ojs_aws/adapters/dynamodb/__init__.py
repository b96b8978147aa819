"""Jobs, queues, workers and events in one DynamoDB table."""
