"""What executions leave: results, progress and checkpoints."""
