"""Tests of the services of tenants."""
