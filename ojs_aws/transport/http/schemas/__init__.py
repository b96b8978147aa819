"""The schema registry over HTTP."""
