"""Rate and concurrency limits on how jobs begin."""
