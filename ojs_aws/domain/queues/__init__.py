"""The settings of queues, and the tallies of what queues did."""
