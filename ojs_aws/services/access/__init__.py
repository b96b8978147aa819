"""API keys, and the request rates of API clients."""
