"""Stores any number of jobs, all or none."""
