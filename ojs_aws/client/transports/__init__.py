"""Carry requests and answers of the client: over HTTPS, or in this process."""
