"""Gives the jobs of fair queues their places."""
