"""At most so many executions at a time, over tasks, threads and event loops."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    ConcurrencyLimitError,
    ConcurrencyLimitMiddleware,
    ExecutionChain,
    JobContext,
)
from ojs_aws.middleware.protocols import ExecutionSide
from tests.load import HUNG_S
from tests.unit.middleware.doubles import context, job
from tests.unit.worker.doubles import settle

_executes: ExecutionSide = ConcurrencyLimitMiddleware(1)


class Gauge:
    """How many run now, and how many did at most; safe for threads."""

    def __init__(self) -> None:
        self.now = self.most = self.total = 0
        self._lock = threading.Lock()

    async def handler(self, executed: Job, ctx: JobContext) -> None:
        with self._lock:
            self.now += 1
            self.total += 1
            self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        with self._lock:
            self.now -= 1


async def test_mw_exe_018_no_more_run_at_a_time_than_the_limit() -> None:
    """Fifty tasks, three places."""
    gauge, limit = Gauge(), ConcurrencyLimitMiddleware(3)
    chain = ExecutionChain([limit])
    await asyncio.gather(*(chain.run(job(), context(), gauge.handler) for _ in range(50)))
    assert (gauge.most, gauge.total) == (3, 50)
    assert limit.active("a.b") == limit.waiting("a.b") == 0


def test_the_limit_holds_over_event_loops_in_many_threads() -> None:
    """As with two workers in one process."""
    gauge, limit = Gauge(), ConcurrencyLimitMiddleware(3)
    chain = ExecutionChain([limit])

    async def five() -> None:
        await asyncio.gather(*(chain.run(job(), context(), gauge.handler) for _ in range(5)))

    threads = [threading.Thread(target=asyncio.run, args=(five(),)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HUNG_S)
    assert gauge.total == 50
    assert gauge.most <= 3
    assert limit.active("a.b") == 0


def tenant_of(executed: Job) -> str | None:
    tenant = executed.meta.get("tenant")
    return tenant if isinstance(tenant, str) else None


async def test_each_key_has_places_of_its_own_and_none_passes() -> None:
    """Types, or what a callable says."""
    limit = ConcurrencyLimitMiddleware(1, key=tenant_of, wait_s=0)
    chain, gauge = ExecutionChain([limit]), Gauge()

    async def run(**members: Any) -> None:
        executed = job(**members)
        await chain.run(executed, context(executed), gauge.handler)

    await asyncio.gather(run(meta={"tenant": "x"}), run(meta={"tenant": "y"}), run(), run())
    with pytest.raises(ConcurrencyLimitError, match="1 executions of 'x'"):
        await asyncio.gather(run(meta={"tenant": "x"}), run(meta={"tenant": "x"}))


class Held:
    """One place, taken by a job that waits for a gate."""

    def __init__(self, **options: Any) -> None:
        self.limit = ConcurrencyLimitMiddleware(1, **options)
        self.chain = ExecutionChain([self.limit])
        self.gate = asyncio.Event()
        self.order: list[str] = []

    def start(self, name: str = "", **given: Any) -> asyncio.Task[object]:
        async def handler(*_: object) -> None:
            self.order.append(name)
            await self.gate.wait()

        return asyncio.ensure_future(self.chain.run(job(), context(**given), handler))


async def test_waiting_ends_after_its_time_or_the_environment_s() -> None:
    """The handler is not called; the place stays with whoever has it."""
    held = Held(wait_s=0.01)
    first = held.start()
    await settle()
    with pytest.raises(ConcurrencyLimitError, match=r"within 0\.01 s"):
        await held.start()
    patient = Held(wait_s=60)
    second = patient.start()
    await settle()
    with pytest.raises(ConcurrencyLimitError):
        await patient.start(deadline=time.monotonic() + 0.01)
    assert patient.limit.waiting("a.b") == 0
    held.gate.set()
    patient.gate.set()
    await asyncio.gather(first, second)
    await held.start()


async def test_the_order_is_that_of_arrival() -> None:
    """Also for the one that comes as a place is handed over."""
    held = Held()
    tasks = [held.start(str(n)) for n in range(5)]
    await settle()
    held.gate.set()
    await asyncio.gather(*tasks)
    assert held.order == ["0", "1", "2", "3", "4"]


async def test_a_job_that_is_given_up_while_it_waits_takes_no_place() -> None:
    """Neither before nor at the very moment that it is given one."""
    held = Held()
    first, second, third = held.start("1"), held.start("2"), held.start("3")
    await settle()
    second.cancel()
    await asyncio.wait({second})
    assert held.limit.waiting("a.b") == 1
    first.add_done_callback(lambda _: third.cancel())  # its place is on the way to the third
    held.gate.set()
    await asyncio.wait({first, third})
    assert third.cancelled()
    assert held.limit.active("a.b") == 0
    assert held.order == ["1"]


async def test_a_loop_that_was_closed_does_not_keep_the_place() -> None:
    """The next one in line gets it."""
    held = Held()
    first = held.start("1")
    await settle()
    gone = asyncio.new_event_loop()
    try:
        held.limit._slots["a.b"].waiting.append(_waiter(gone))
    finally:
        gone.close()
    second = held.start("2")
    await settle()
    held.gate.set()
    await asyncio.gather(first, second)
    assert held.limit.active("a.b") == 0


def _waiter(loop: asyncio.AbstractEventLoop) -> Any:
    from ojs_aws.middleware.builtin.limits import _Waiter

    return _Waiter(loop)


def test_there_must_be_a_place() -> None:
    """When the middleware is made."""
    for options in ({"limit": 0}, {"limit": 1, "wait_s": -1}):
        with pytest.raises(ValueError, match="limit must be"):
            ConcurrencyLimitMiddleware(**options)  # type: ignore[arg-type]
