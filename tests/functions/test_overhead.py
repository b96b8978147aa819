"""What the handlers add to their AWS calls, counted in function calls: no clock, no noise."""

from __future__ import annotations

import pytest

from benchmarks.overhead import BUDGET, measure
from ojs_aws.local.aws import embedded_aws


def test_handlers_stay_within_their_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m benchmarks.overhead` prints the table, and profiles what is above it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with embedded_aws():
        found, _ = measure(rounds=1)
    assert {each.operation for each in found} == {"PUSH", "FETCH", "INFO", "FAIL", "ACK"}
    assert {each.operation: each.steps_ratio for each in found if each.steps_ratio > BUDGET} == {}
