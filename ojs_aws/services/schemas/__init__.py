"""Registers schemas, and validates arguments against them."""
