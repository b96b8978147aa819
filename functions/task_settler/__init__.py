"""Holds the entry point of the function that settles jobs of ECS tasks."""
