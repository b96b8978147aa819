"""What watches a backend: its alarms and its dashboard."""
