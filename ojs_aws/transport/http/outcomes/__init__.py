"""Results, progress and checkpoints over HTTP."""
