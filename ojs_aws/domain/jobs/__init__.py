"""Keeps jobs as the specification has them: checks, transitions, failures and outcomes."""
