"""The cost of each middleware, apart from the handler (MW-CHAIN-030)."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    ChainFrozenError,
    EnqueueChain,
    ExecutionChain,
    JobContext,
    NextNotAwaitedError,
    Timings,
)
from tests.unit.middleware.doubles import context, job, store


class Clock:
    """Seconds that only the test's own code spends."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def spend(self, milliseconds: float) -> None:
        self.now += milliseconds / 1000


async def test_mw_chain_030_each_layer_s_own_time_and_the_handler_s() -> None:
    clock, seen = Clock(), list[tuple[str, Timings]]()

    async def outer(job: Job, ctx: JobContext, call_next: Any) -> Any:
        clock.spend(1)
        result = await call_next()
        clock.spend(2)
        return result

    def inner(job: Job, ctx: JobContext, call_next: Any) -> Any:
        clock.spend(4)
        return call_next()

    chain = ExecutionChain([outer, inner])
    chain.measure(lambda given, timings: seen.append((given.id, timings)), clock=clock)
    given = job()
    for _ in range(2):
        assert await chain.run(given, context(), lambda *_: clock.spend(100)) is None
    assert [job_id for job_id, _ in seen] == [given.id] * 2
    timings = seen[1][1]
    assert dict(timings.layers) == pytest.approx({"outer": 3, "inner": 4})
    assert [*timings.layers] == ["outer", "inner"]
    assert timings.inner_ms == pytest.approx(100)
    assert timings.middleware_ms == pytest.approx(7)


async def test_a_layer_that_goes_on_in_another_context_is_measured_as_any() -> None:
    async def elsewhere(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return await asyncio.create_task(call_next(), context=contextvars.Context())

    async def inner(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return await call_next()

    seen: list[Timings] = []
    chain = ExecutionChain([elsewhere, inner]).measure(lambda _, timings: seen.append(timings))
    assert await chain.run(job(), context(), lambda *_: "done") == "done"
    assert [*seen[0].layers] == ["elsewhere", "inner"]


async def test_enqueueing_is_measured_too_and_also_when_it_fails() -> None:
    clock, seen = Clock(), list[Timings]()

    async def spends(job: Job, call_next: Any) -> Any:
        clock.spend(5)
        return await call_next(job)

    async def refuses(_: Job) -> Job:
        clock.spend(50)
        raise KeyError("taken")

    chain = EnqueueChain([spends]).measure(lambda _, timings: seen.append(timings), clock=clock)
    assert await chain.run(job(), store) is not None
    with pytest.raises(KeyError):
        await chain.run(job(), refuses)
    assert [timings.inner_ms for timings in seen] == pytest.approx([0, 50])
    assert [timings.middleware_ms for timings in seen] == pytest.approx([5, 5])


async def test_measuring_changes_nothing_about_the_guards() -> None:
    """MW-EXE-006: a forgotten await is found nevertheless."""

    async def forgets(job: Job, ctx: JobContext, call_next: Any) -> Any:
        call_next()

    chain = ExecutionChain([forgets]).measure()
    with pytest.raises(NextNotAwaitedError):
        await chain.run(job(), context(), lambda *_: 1)


async def test_a_report_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: Job, __: Timings) -> None:
        raise OSError("no disk")

    chain = ExecutionChain().measure(fails)
    assert await chain.run(job(), context(), lambda *_: 1) == 1
    assert "could not be reported" in caplog.text


async def test_by_default_it_is_logged_and_switched_on_before_the_first_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "ojs_aws.middleware.timing")
    chain = ExecutionChain().measure()
    await chain.run(job(), context(), lambda *_: 1)
    record: Any = caplog.records[0]
    assert record.inner_ms >= 0
    assert record.middleware_ms == 0
    with pytest.raises(ChainFrozenError):
        chain.measure()
