"""Tests of typed jobs."""
