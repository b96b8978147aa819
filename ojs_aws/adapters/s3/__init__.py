"""Stores large documents in S3."""
