"""Tests of the bridge from Celery."""
