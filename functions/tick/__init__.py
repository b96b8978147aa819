"""Holds the entry point of the function that runs the sweep and cron jobs."""
