"""Nothing runs by itself in a test: who asks too long for a result learns that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws import Job
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.testing import transport
from ojs_aws.testing.transport import (
    DRAIN_PATIENCE_S,
    PATIENCE_S,
    MemoryTransport,
    NothingRunsError,
)


class Waiting(MemoryTransport):
    """Reaches no backend.

    :ivar caught_up: how often the clock caught up with this machine.
    """

    def __init__(self, drains: int = 0) -> None:
        self.caught_up = 0
        memory = SimpleNamespace(services=None, drains=drains, catch_up=self._catch_up)
        super().__init__(cast("Any", memory))

    def _catch_up(self) -> None:
        self.caught_up += 1

    async def get(self, job_id: str) -> Job:
        return Job.from_json(f'{{"id": "{job_id}", "type": "a.b", "state": "available"}}')


@pytest.mark.parametrize(("drains", "patience_s"), [(0, PATIENCE_S), (1, DRAIN_PATIENCE_S)])
async def test_who_asks_for_a_result_may_ask_for_as_long_as_is_said(
    monkeypatch: pytest.MonkeyPatch, drains: int, patience_s: float
) -> None:
    """Exactly; whoever asks again afterwards may ask for as long once more."""
    asked, moment = Waiting(drains), 0.0
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: moment))
    for moment in (0.0, patience_s / 2):  # noqa: B007 - what monotonic returns
        await asked._check_patience("1")
    moment = patience_s
    with pytest.raises(NothingRunsError, match="nothing runs by itself"):
        await asked._check_patience("1")
    await asked._check_patience("1")


@pytest.mark.parametrize(
    ("operation", "state", "waits"),
    [
        ("get_result", "active", ["1"]),
        ("get_result", "completed", []),
        ("get_job", "active", []),
    ],
)
async def test_only_who_asks_for_a_result_that_is_not_there_waits(
    monkeypatch: pytest.MonkeyPatch, operation: str, state: str, waits: list[str]
) -> None:
    async def answer(*_: object) -> Any:
        return SimpleNamespace(values={"state": state})

    async def note(job_id: str) -> None:
        seen.append(job_id)

    seen: list[str] = []
    asked = Waiting()
    monkeypatch.setattr(InProcessTransport, "ask", answer)
    monkeypatch.setattr(asked, "_check_patience", note)
    await asked.ask(cast("Any", SimpleNamespace(operation=operation, path={"job_id": "1"})))
    assert seen == waits


@pytest.mark.parametrize(
    ("members", "times"),
    [
        ({}, 0),
        ({"scheduled_at": "+PT10M"}, 0),
        ({"scheduled_at": "2030-01-01T00:00:00Z"}, 1),
        ({"scheduled_at": "+PT10M", "expires_at": "2030-01-01T00:00:00Z"}, 1),
    ],
)
def test_only_a_time_of_day_lets_the_clock_catch_up(members: dict[str, str], times: int) -> None:
    made, job = Waiting(), Job("a.b", [])
    for name, value in members.items():
        job[name] = value
    made._note_time([Job("a.b", []), job])
    assert made.caught_up == times
