"""Holds the entry point of the function that starts ECS tasks for jobs."""
