"""The enqueue chain: pass, drop or abort, and what the caller learns."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    EnqueueChain,
    IdChangedError,
    LoggingMiddleware,
    MiddlewareError,
    NextCalledTwiceError,
)
from tests.unit.middleware.doubles import JOB_ID, Traced, enqueue_sync, job, store


class Store:
    """Keeps what reaches it."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.jobs: list[Job] = []
        self.problem = problem

    async def __call__(self, kept: Job) -> Job:
        if self.problem is not None:
            raise self.problem
        self.jobs.append(kept)
        return kept


async def passes(job: Job, call_next: Any) -> Any:
    return await call_next(job)


async def drops(job: Job, call_next: Any) -> Any:
    return None


async def aborts(job: Job, call_next: Any) -> Any:
    raise KeyError("schema")


async def test_mw_chain_023_an_empty_chain_stores_the_job() -> None:
    """MW-CHAIN-023: and a synchronous store does as well."""
    given = job()
    assert await EnqueueChain().run(given, store) is given
    assert await EnqueueChain().run(given, lambda kept: kept) is given


async def test_appendix_a_enqueue_insertion_order_around_the_store() -> None:
    """MW-ENQ-002, MW-CHAIN-022: first in, last out."""
    trace: list[str] = []

    async def kept(stored: Job) -> Job:
        trace.append("store")
        return stored

    await EnqueueChain([Traced(trace, "A"), Traced(trace, "B")]).run(job(), kept)
    assert trace == ["A-in", "B-in", "store", "B-out", "A-out"]


async def test_mw_enq_004_a_class_with_call_is_a_middleware() -> None:
    """MW-ENQ-004, MW-CHAIN-025: with exactly the signature of section 11.1; class or instance."""

    class Stamp:
        async def call(self, job: Job, call_next: Any) -> Job | None:
            job.meta["stamp"] = True
            result: Job | None = await call_next(job)
            return result

    for member in (Stamp, Stamp()):
        stored = await EnqueueChain([member]).run(job(), store)
        assert stored is not None
        assert stored.meta == {"stamp": True}


async def test_mw_enq_004_functions_and_partials_are_middleware() -> None:
    """MW-ENQ-004."""

    async def tag(value: str, job: Job, call_next: Any) -> Any:
        job.meta["tag"] = value
        return await call_next(job)

    stored = await EnqueueChain([functools.partial(tag, "x"), passes]).run(job(), store)
    assert stored is not None
    assert stored.meta["tag"] == "x"


async def test_mw_enq_004_a_synchronous_one_may_return_either() -> None:
    """MW-ENQ-004: the two forms that synchronous code has."""

    def route(job: Job, call_next: Any) -> Any:
        job.queue = "bulk"
        return job

    def last(job: Job, call_next: Any) -> Any:
        return call_next(job)

    stored = await EnqueueChain([route, last]).run(job(), store)
    assert stored is not None
    assert stored.queue == "bulk"


@pytest.mark.parametrize("by_copy", [True, False])
async def test_mw_enq_011_a_change_reaches_later_middleware_and_the_store(by_copy: bool) -> None:
    """MW-ENQ-010, MW-ENQ-011: made in place or on a copy."""
    seen: list[Any] = []
    kept = Store()

    async def change(job: Job, call_next: Any) -> Any:
        if by_copy:
            return await call_next(job.copy(queue="bulk"))
        job.queue = "bulk"
        return await call_next(job)

    async def look(job: Job, call_next: Any) -> Any:
        seen.append(job.queue)
        return await call_next(job)

    await EnqueueChain([change, look]).run(job(), kept)
    assert [*seen, kept.jobs[0].queue] == ["bulk", "bulk"]


async def test_mw_enq_005_a_job_returned_without_call_next_goes_on() -> None:
    """MW-ENQ-005: later middleware and the store get it."""
    trace: list[str] = []

    async def early(job: Job, call_next: Any) -> Any:
        return job.copy(priority=7)

    kept = Store()
    stored = await EnqueueChain([early, Traced(trace, "A")]).run(job(), kept)
    assert stored is kept.jobs[0]
    assert stored.priority == 7
    assert trace == ["A-in", "A-out"]


async def test_mw_enq_023_none_without_call_next_drops_the_job() -> None:
    """MW-ENQ-006, MW-ENQ-018..021, MW-ENQ-023: no error, no insert, and the name of who did it."""
    trace: list[str] = []
    kept = Store()
    chain = EnqueueChain([passes, drops, Traced(trace, "later")])
    assert await chain.run_tracked(job(), kept) == (None, "drops")
    assert await chain.run(job(), kept) is None
    assert (trace, kept.jobs) == ([], [])


async def test_outer_middleware_sees_that_a_job_was_dropped() -> None:
    """Section 3.7: the logging example depends on it."""
    seen: list[object] = []

    async def look(job: Job, call_next: Any) -> Any:
        seen.append(await call_next(job))

    await EnqueueChain([look, drops]).run(job(), store)
    assert seen == [None]


async def test_mw_enq_007_an_error_aborts_and_reaches_the_caller() -> None:
    """MW-ENQ-007, MW-ENQ-014..017, MW-ENQ-022: the very exception; nothing later runs."""
    trace: list[str] = []
    kept = Store()
    with pytest.raises(KeyError, match="schema") as raised:
        await EnqueueChain([passes, aborts, Traced(trace, "later")]).run(job(), kept)
    assert not hasattr(raised.value, "stored_job_ids")
    assert (trace, kept.jobs) == ([], [])


async def test_mw_enq_003_order_dependent_middleware_is_respected() -> None:
    """MW-ENQ-003: an invalid duplicate is invalid; nobody looks for duplicates of it."""
    trace: list[str] = []
    with pytest.raises(KeyError):
        await EnqueueChain([aborts, Traced(trace, "dedup")]).run(job(), store)
    assert trace == []


async def test_river_005_an_error_after_storing_carries_the_stored_ids() -> None:
    """RIVER-005: the caller may cancel what was stored."""

    async def late(job: Job, call_next: Any) -> Any:
        await call_next(job)
        raise KeyError("late")

    with pytest.raises(KeyError) as raised:
        await EnqueueChain([passes, late]).run(job(), store)
    assert raised.value.stored_job_ids == (JOB_ID,)  # type: ignore[attr-defined]
    assert "'late'" in raised.value.__notes__[0]


async def test_an_error_of_the_store_says_nothing_of_stored_jobs() -> None:
    """It is not known whether they were."""
    with pytest.raises(OSError, match="down") as raised:
        await EnqueueChain([passes]).run(job(), Store(OSError("down")))
    assert not hasattr(raised.value, "stored_job_ids")


async def test_none_after_storing_is_ignored_with_a_warning() -> None:
    """What is stored cannot be dropped."""

    async def forgets(job: Job, call_next: Any) -> Any:
        await call_next(job)

    given = job()
    with pytest.warns(RuntimeWarning, match="'forgets' returned None"):
        outcome = await EnqueueChain([forgets]).run_tracked(given, store)
    assert outcome == (given, "")


@pytest.mark.parametrize("way", ["in place", "copied", "returned"])
async def test_appendix_a_the_id_cannot_be_changed(way: str) -> None:
    """MW-ENQ-012: the error names who tried, and nothing is stored."""

    async def forger(job: Job, call_next: Any) -> Any:
        if way == "in place":
            job.id = "other"
        changed = job.copy(id="other")
        return changed if way == "returned" else await call_next(changed)

    kept = Store()
    with pytest.raises(IdChangedError, match="'forger'") as raised:
        await EnqueueChain([passes, forger]).run(job(), kept)
    assert isinstance(raised.value, MiddlewareError)
    assert kept.jobs == []


async def test_call_next_goes_on_once() -> None:
    """One envelope is stored once."""

    async def twice(job: Job, call_next: Any) -> Any:
        await call_next(job)
        return await call_next(job)

    kept = Store()
    with pytest.raises(NextCalledTwiceError, match="'twice'"):
        await EnqueueChain([twice]).run(job(), kept)
    assert len(kept.jobs) == 1


async def test_mw_chain_028_concurrent_jobs_share_instances_only() -> None:
    """MW-CHAIN-026, MW-CHAIN-028: 50 jobs at once through the same instances."""

    async def number(job: Job, call_next: Any) -> Any:
        await asyncio.sleep(0)
        job.meta["n"] = job.args[0]
        return await call_next(job) if job.args[0] in range(1, 50, 2) else None

    chain = EnqueueChain([passes, number])
    outcomes = await asyncio.gather(*(chain.run_tracked(job(n), store) for n in range(50)))
    for n, (stored, dropped_by) in enumerate(outcomes):
        assert dropped_by == ("" if n % 2 else "number")
        assert (stored.meta["n"] if stored else None) == (n if n % 2 else None)


def test_synchronous_code_runs_the_chain_without_an_event_loop() -> None:
    """A chain that never waits; asyncio would refuse ``get_running_loop`` there."""
    seen: list[bool] = []

    def stored(kept: Job) -> Job:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            seen.append(False)
        return kept

    given = job()
    assert enqueue_sync(EnqueueChain([LoggingMiddleware]), given, stored) == (given, "")
    assert enqueue_sync(EnqueueChain(), given, stored) == (given, "")
    assert seen == [False, False]


def test_synchronous_code_runs_a_chain_that_waits_in_a_loop() -> None:
    """Nothing has to be declared for that."""

    async def waits(job: Job, call_next: Any) -> Any:
        await asyncio.sleep(0)
        return await call_next(job)

    given = job()
    assert enqueue_sync(EnqueueChain([waits]), given, lambda kept: kept) == (given, "")
    assert enqueue_sync(EnqueueChain([waits, drops]), given, lambda kept: kept) == (None, "drops")


def test_a_middleware_that_waits_though_it_says_never_is_refused() -> None:
    """A declaration that is not true must not hang, nor store half a job."""

    class Liar:
        never_waits = True

        async def call(self, job: Job, call_next: Any) -> Any:
            await asyncio.sleep(0)
            return await call_next(job)

    kept: list[Job] = []

    def stored(job: Job) -> Job:
        kept.append(job)
        return job

    with pytest.raises(RuntimeError, match="never waits has waited"):
        enqueue_sync(EnqueueChain([Liar]), job(), stored)
    assert kept == []
