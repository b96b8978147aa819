"""Holds the commands of manage.py."""
