"""Stores the registry, settings, depths and tallies of queues."""
