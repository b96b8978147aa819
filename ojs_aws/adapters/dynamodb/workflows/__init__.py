"""Stores workflows in the table."""
