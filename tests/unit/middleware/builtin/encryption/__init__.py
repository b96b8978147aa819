"""The two chains, and the middleware that comes with them."""
