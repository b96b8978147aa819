"""Implements the ports with AWS: adapters translate and never decide."""
