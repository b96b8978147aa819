"""Cron jobs: expressions, time zones and occurrences."""
