"""Implements the Open Job Spec as pure functions and values: no AWS, no HTTP, no clock."""
