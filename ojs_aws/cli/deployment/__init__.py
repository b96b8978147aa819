"""Implements the commands that check, price and restore a deployment."""
