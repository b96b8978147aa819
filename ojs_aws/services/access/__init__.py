"""Manages API keys, and limits the request rates of API clients."""
