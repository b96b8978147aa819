"""The soak's checks see what they are there for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.soak_checks import problems
from benchmarks.soak_worker import Diary, Held, Report

FINE = ["enqueued", "started", "failed", "retrying", "enqueued", "started", "completed"]


def log(kinds: Sequence[str]) -> list[dict[str, Any]]:
    """A job's events, a second apart."""
    events, attempt = [], 0
    for second, kind in enumerate(kinds):
        attempt += kind == "started"
        events.append(
            {
                "id": f"e{second}",
                "type": f"job.{kind}",
                "subject": "j",
                "time": f"2026-01-01T00:00:{second:02d}Z",
                "data": {"attempt": attempt},
            }
        )
    return events


def check(events: list[dict[str, Any]], diary: Diary | None = None, **job: Any) -> list[str]:
    """The problems of one job that may be tried three times."""
    given = {"id": "j", "state": "completed", "attempt": 2} | job
    return list(problems([given], events, diary or Diary(), {"j": 3}))


def test_a_proper_history_is_accepted_with_its_repeats() -> None:
    """Events come at least once."""
    assert check(log(FINE)) == []
    assert check([*log(FINE), *log(FINE)]) == []


@pytest.mark.parametrize(
    ("kinds", "job"),
    [
        (FINE[:-1], {}),  # never ended
        (FINE, {"state": "discarded"}),
        (FINE, {"attempt": 3}),
        (["enqueued", "started", "started", "completed"], {}),  # overlap
        (["enqueued", "started", "completed", "started"], {"attempt": 2}),
        ([*FINE[:4], *FINE[5:]], {}),  # a transition without its event
        (["enqueued", *["started", "failed", "enqueued"] * 4, "cancelled"],
         {"state": "cancelled", "attempt": 4}),
    ],
)  # fmt: skip
def test_a_broken_history_is_reported(kinds: list[str], job: dict[str, Any]) -> None:
    """Whatever is missing, too much, or in the wrong order."""
    assert len(check(log(kinds), **job)) == 1


def test_time_does_not_run_backwards_in_a_history() -> None:
    """An attempt that began before the one before it had ended."""
    events = log(FINE)
    events[5]["time"] = events[1]["time"]
    (problem,) = check(events)
    assert "before" in problem


def test_an_attempt_belongs_to_one_worker_and_one_report() -> None:
    """What the workers saw: an attempt given out twice, and two answers of 200."""
    first, second = Held("j", 2, "w1"), Held("j", 2, "w2")
    diary = Diary(
        held=[first, second], reports=[Report(first, "nack", 200), Report(second, "ack", 200)]
    )
    assert len(check(log(FINE), diary)) == 2


def test_a_late_acknowledgement_must_have_been_refused() -> None:
    """The first attempt's, when the second completed the job."""
    late = Held("j", 1, "w1")
    diary = Diary(held=[late], reports=[Report(late, "ack", 200)])
    (problem,) = check(log(FINE), diary)
    assert "ACK of attempt 1" in problem
