"""Implements ``ojs-aws verify-aws``: deploys to an account, proves it works, and removes it."""
