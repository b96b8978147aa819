"""Tests of the workers."""
