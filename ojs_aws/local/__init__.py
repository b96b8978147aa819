"""Runs the whole backend in one process: the deployed Lambda handlers over an embedded AWS."""
