"""Threads over an unreliable AWS, in small: what ``benchmarks.soak --threads`` does for minutes."""

from __future__ import annotations

import pytest

from benchmarks.soak_threads import ThreadPlan, soak_threads
from tests import dynamodb_local

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not dynamodb_local.is_installed(), reason="make dynamodb-local"),
]


def test_no_answer_breaks_a_promise_whatever_aws_does() -> None:
    """Lost answers, repeated and late effects, a lagging index, duplicated messages."""
    result = soak_threads(ThreadPlan(threads=4, requests=600, longest_s=60, seed=3))
    assert result.problems == []
    assert result.states["completed"] > 0
    assert {"lost", "twice", "late", "lagging", "duplicated"} <= {*+result.met}
