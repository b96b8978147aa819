"""Serves cron jobs over HTTP."""
