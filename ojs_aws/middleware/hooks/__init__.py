"""Hooks: called at a moment of a job's life, around nothing."""
