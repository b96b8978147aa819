"""Serves operations that the official command line and admin UI call by their own paths."""
