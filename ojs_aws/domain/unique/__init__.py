"""Uniqueness keys: what makes jobs the same, and the locks that stand for them."""
