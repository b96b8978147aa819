"""Stores everything with AWS: the stores translate, and never decide."""
