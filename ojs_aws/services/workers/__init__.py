"""Registers workers, their heartbeats and their directives."""
