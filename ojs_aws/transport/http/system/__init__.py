"""Serves the manifest, health, metrics, statistics and settings over HTTP."""
