"""The dashboard in a real browser, over the local server."""
