"""Workers over HTTP, as operators see them."""
