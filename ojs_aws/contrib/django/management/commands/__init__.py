"""Holds the commands of manage.py: ojs_worker and ojs_cron_sync."""
