"""Unique jobs: admits, ignores, replaces or rejects a job under its key."""
