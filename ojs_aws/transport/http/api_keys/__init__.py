"""Serves API keys over HTTP: lists and revokes them."""
