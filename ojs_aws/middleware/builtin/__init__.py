"""Provide the middleware that comes with this package; each is loaded when it is first used."""
