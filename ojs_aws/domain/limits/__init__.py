"""Limits on how jobs begin, and on API clients."""
