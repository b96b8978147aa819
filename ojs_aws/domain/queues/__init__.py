"""Reads the settings of queues and counts what queues did."""
