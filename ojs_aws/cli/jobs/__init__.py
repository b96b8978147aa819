"""Implements the commands about jobs: enqueue, show, change, erase, and retry dead letters."""
