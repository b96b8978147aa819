"""What one execution of a handler leaves behind: its log records, and its own errors."""

from __future__ import annotations

import asyncio
import logging
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws import Job
from ojs_aws.domain.job import JobState
from ojs_aws.middleware.context import CURRENT_JOB
from ojs_aws.testing import transport
from ojs_aws.testing.perform import RecordingContext, _JobRecords, perform
from ojs_aws.testing.transport import InlineRuns


@pytest.mark.parametrize(
    ("logger", "is_within", "is_kept"),
    [
        ("shop", True, True),
        ("ojs_awsome", True, True),
        ("shop", False, False),
        ("ojs_aws", True, False),
        ("ojs_aws.job", True, False),
    ],
)
def test_only_what_the_application_logs_within_the_job_is_kept(
    logger: str, is_within: bool, is_kept: bool
) -> None:
    """What it logs by the context is kept elsewhere."""
    ctx = RecordingContext(Job("a.b", []))
    token = CURRENT_JOB.set(ctx if is_within else RecordingContext(Job("a.b", [])))
    try:
        _JobRecords(ctx).emit(logging.makeLogRecord({"name": logger}))
    finally:
        CURRENT_JOB.reset(token)
    assert bool(ctx.logs) is is_kept


async def test_a_timeout_within_the_chain_is_not_that_of_perform() -> None:
    async def execute(_ctx: object) -> None:
        raise TimeoutError("the database")

    executor = cast("Any", SimpleNamespace(execute=execute))
    with pytest.raises(TimeoutError, match="the database"):
        await perform(Job("a.b", []), executor, None, 60)


# ----------------------------------------------------------------------------------- inline
class Runner:
    """Notes in which threads jobs are executed."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    async def run(self, *_: object, is_final: bool) -> None:
        assert is_final
        self.threads.append(threading.get_ident())


@pytest.mark.parametrize("is_waited_for", [False, True])
def test_only_a_loop_that_is_waited_for_leaves_the_job_to_another_thread(
    monkeypatch: pytest.MonkeyPatch, is_waited_for: bool
) -> None:
    runner = Runner()
    monkeypatch.setattr(transport, "in_loop_thread", lambda: is_waited_for)
    runs = InlineRuns(cast("Any", None), cast("Any", runner))
    asyncio.run(runs._run(cast("Any", None)))
    assert (runner.threads != [threading.get_ident()]) is is_waited_for


def test_each_job_begins_once() -> None:
    """Also if it waits again: another call may be about to run it."""
    records = [
        SimpleNamespace(id=str(number), state=state, sequence=None)
        for number, state in enumerate([JobState.AVAILABLE, JobState.ACTIVE, JobState.SCHEDULED])
    ]
    backend = SimpleNamespace(records=lambda: records, call=lambda _claim, record: record.id)
    runs = InlineRuns(cast("Any", backend), cast("Any", None))
    begun: list[object] = [runs._next() for _ in records]
    assert begun == ["0", "2", None]
