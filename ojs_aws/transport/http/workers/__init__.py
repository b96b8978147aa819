"""Serves workers over HTTP, as operators see them."""
