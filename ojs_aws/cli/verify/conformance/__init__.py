"""Runs conformance cases against a server: what the specification says, as requests and answers."""
