"""Serves sequences: jobs with one key that run one after another."""
