"""Check the arguments of jobs against JSON Schemas."""
