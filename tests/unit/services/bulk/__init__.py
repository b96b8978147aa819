"""Tests of operations on many jobs."""
