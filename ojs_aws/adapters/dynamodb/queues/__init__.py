"""The registry, settings, depths and tallies of queues in the table."""
