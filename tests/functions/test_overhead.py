"""What the handlers add to their AWS calls, counted by the interpreter: no clock, no noise."""

from __future__ import annotations

import pytest

from benchmarks.overhead import BUDGET, INSTRUCTIONS_BUDGET, instructions_of, measure, steps_of
from ojs_aws.local.aws import embedded_aws


@pytest.mark.moto
def test_handlers_stay_within_their_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m benchmarks.overhead` prints the table, and profiles what is above it."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with embedded_aws():
        found, _ = measure(rounds=1)
    assert {each.operation for each in found} == {"PUSH", "FETCH", "INFO", "FAIL", "ACK"}
    assert {each.operation: each.steps_ratio for each in found if each.steps_ratio > BUDGET} == {}
    ratios = {each.operation: each.instructions_ratio for each in found}
    assert {name: each for name, each in ratios.items() if each > INSTRUCTIONS_BUDGET} == {}
    assert all(each.calls > 0 for each in found)


def test_what_is_counted_is_the_same_each_time() -> None:
    """And one more instruction is one more, so that a regression cannot hide in noise."""

    def little() -> None:
        for at in range(100):
            abs(at)

    def more() -> None:
        for at in range(101):
            abs(at)

    assert {instructions_of(little) for _ in range(3)} == {instructions_of(little)}
    assert instructions_of(more) > instructions_of(little)
    assert steps_of(more) == steps_of(little) + 1
