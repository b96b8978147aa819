"""A test in fake mode costs so little that nobody avoids it; a test with many jobs stays linear."""

from __future__ import annotations

from benchmarks.testing_kit import one_large_test, repeated_tests

GENEROUS = 5
"""Other programs, and the coverage of tests, make each processor second longer."""


def test_a_thousand_tests_take_less_than_five_seconds() -> None:
    """By 100 of them, in processor time; `python -m benchmarks.testing_kit` measures exactly."""
    assert repeated_tests(100) < 0.5 * GENEROUS


def test_a_job_costs_the_same_among_many() -> None:
    """Ten times as many jobs cost about ten times as much, and not a hundred times."""
    few, many = sum(one_large_test(100)), sum(one_large_test(1000))
    assert many < few * 40
