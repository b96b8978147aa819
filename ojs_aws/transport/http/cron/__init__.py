"""Cron jobs over HTTP."""
