"""Holds adapters for frameworks; each needs an extra, and nothing else imports any of them."""
