"""Serves tenants: isolation of requests, and their administration."""
