"""Admits, ignores, replaces or rejects a unique job under its key."""
