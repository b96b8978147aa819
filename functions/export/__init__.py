"""Holds the entry point of the function that writes ended jobs to S3."""
