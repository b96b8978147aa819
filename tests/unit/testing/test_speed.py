"""A test in fake mode costs so little that nobody avoids it; a test with many jobs stays linear.

Python's calls are counted, which no other program changes; `python -m benchmarks.testing_kit`
measures seconds.
"""

from __future__ import annotations

import cProfile
import gc
import logging
from collections.abc import Callable

import pytest

from benchmarks.testing_kit import one_large_test, repeated_tests

pytestmark = pytest.mark.thorough

MOST_CALLS = 6500
"""Of a test: about 2 ms of an idle processor."""


def calls(call: Callable[[], object]) -> int:
    """Count the functions that a call calls, without what is done once in a process."""
    return min(_counted(call) for _ in range(3))


def _counted(call: Callable[[], object]) -> int:
    """Count them once, without what other tests let log records cost.

    Nor what they left in cycles: `asyncio.run` looks through all tasks that are still in memory.
    """
    profile = cProfile.Profile()
    gc.collect()
    gc.disable()
    logging.disable()
    try:
        profile.runcall(call)
    finally:
        logging.disable(logging.NOTSET)
        gc.enable()
    return sum(each.callcount for each in profile.getstats())


def test_a_test_costs_a_few_thousand_calls() -> None:
    """Enter fake mode, enqueue, assert and leave."""
    repeated_tests(1)  # what is imported and made once
    assert calls(lambda: repeated_tests(10)) / 11 < MOST_CALLS


def test_a_job_costs_the_same_among_many() -> None:
    """Ten times as many jobs cost about ten times as much, and not a hundred times."""
    one_large_test(1)
    few, many = calls(lambda: one_large_test(10)), calls(lambda: one_large_test(100))
    assert many < few * 12
