"""The registry of workers, their heartbeats and their directives."""
