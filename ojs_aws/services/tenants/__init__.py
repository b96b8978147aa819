"""Counts and limits tenants."""
