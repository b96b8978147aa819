"""Watches a backend by alarms and a dashboard."""
