"""Stores jobs: codec, reads, conditional writes and lists."""
