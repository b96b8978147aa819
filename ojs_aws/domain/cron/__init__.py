"""Implements cron jobs: expressions, time zones and occurrences."""
