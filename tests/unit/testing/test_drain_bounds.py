"""A drain has bounds, holds each of them exactly, and says which one it came to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws import Job
from ojs_aws.testing import drain
from ojs_aws.testing.drain import Drain, DrainError, Lineage
from ojs_aws.testing.executions import Execution


class Line:
    """Stands for a backend that gives its jobs one after the other.

    :ivar order: the jobs that were there before, or were enqueued since.
    """

    def __init__(self, given: Sequence[str], known: Sequence[str] = ()) -> None:
        self._left = [*given]
        self.order = dict.fromkeys(known or given, 0)

    def claim(self, _queue: str) -> Any:
        if not self._left:
            return None
        job_id = self._left.pop(0)
        self.order.setdefault(job_id, 0)
        return SimpleNamespace(id=job_id, type="a.b")


async def execute(record: Any, _opened: AsyncExitStack) -> Execution:
    job = Job(record.type, [])
    job.id = record.id
    return Execution(job, "completed")


def executed(line: Line, max_jobs: int | None = None) -> int:
    """Drain, and return how many executions there were."""
    made = Drain(backend=cast("Any", line), run=execute, max_jobs=max_jobs)
    return len(asyncio.run(made()))


def bound(monkeypatch: pytest.MonkeyPatch, **bounds: int) -> None:
    for name, value in bounds.items():
        monkeypatch.setattr(drain, name, value)


def test_one_job_may_run_as_often_as_the_bound_says(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, MAX_REPEATS=2)
    assert executed(Line("aa")) == 2
    with pytest.raises(DrainError, match="was executed 2 times in one drain") as failed:
        executed(Line("aaa"))
    assert len(failed.value.report) == 2


def test_jobs_may_enqueue_each_other_as_often_as_the_bound_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first job comes from nobody."""
    bound(monkeypatch, MAX_GENERATIONS=2)
    assert executed(Line("ab", known="a")) == 2
    with pytest.raises(DrainError, match="or jobs enqueue each other, for ever") as failed:
        executed(Line("abc", known="a"))
    assert len(failed.value.report) == 2


def test_a_drain_executes_as_many_jobs_as_the_bound_says(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, MAX_EXECUTIONS=2)
    assert executed(Line("ab")) == 2
    with pytest.raises(DrainError, match="One drain executed 2 jobs, and there are more"):
        executed(Line("abc"))


def test_no_bound_holds_where_the_caller_sets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, MAX_EXECUTIONS=1, MAX_REPEATS=1, MAX_GENERATIONS=1)
    assert executed(Line("aaaa"), max_jobs=3) == 3


def test_a_job_that_repeats_no_more_than_it_may_is_not_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound(monkeypatch, MAX_REPEATS=2, MAX_EXECUTIONS=1)
    with pytest.raises(DrainError, match="One drain executed 1 jobs"):
        executed(Line("aa"))


@pytest.mark.parametrize(
    ("generations", "text"),
    [
        (drain.MANY_GENERATIONS - 1, "job a.b b, attempt 1, was still running"),
        (drain.MANY_GENERATIONS, "'a.b' was executed 1 times: does it enqueue itself"),
    ],
)
def test_a_drain_that_takes_too_long_blames_a_long_line_of_jobs(
    generations: int, text: str
) -> None:
    running: Any = SimpleNamespace(id="b", type="a.b", attempt=1)
    made = Drain(
        backend=cast("Any", Line("b")),
        run=execute,
        _running=running,
        _lineage=Lineage({"b": generations}),
    )
    made.report.executions.append(Execution(Job("a.b", []), "completed"))
    assert text in made._too_long()


async def test_a_timeout_within_a_job_is_not_that_of_the_drain() -> None:
    async def fail(_record: Any, _opened: AsyncExitStack) -> Execution:
        raise TimeoutError("the database")

    with pytest.raises(TimeoutError, match="the database"):
        await Drain(backend=cast("Any", Line("a")), run=fail, timeout_s=60)()
