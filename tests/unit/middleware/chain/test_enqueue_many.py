"""enqueue_many: around the whole insertion, a single job being a batch of one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.middleware import (
    EnqueueResult,
    EnqueueStatus,
    IdChangedError,
    NextCalledTwiceError,
    NextNotAwaitedError,
    NextNotCalledError,
)
from ojs_aws.middleware.protocols import BatchNext
from ojs_aws.middleware.results import BatchRejectedError
from tests.unit.middleware.doubles import FakeTransport, Traced, client_with


class Around:
    """Notes each insertion."""

    def __init__(self, trace: list[str], name: str = "around") -> None:
        self.trace = trace
        self.name = name

    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
        self.trace.append(f"{self.name}-in {len(jobs)}")
        results = await call_next(jobs)
        self.trace.append(f"{self.name}-out {len(results)}")
        return results


async def test_river_001_it_wraps_single_jobs_and_batches_alike() -> None:
    """RIVER-007: the first is the outermost, and both are outside of every job's own chain."""
    trace: list[str] = []
    client = client_with(
        FakeTransport(), middleware=[Around(trace, "A"), Traced(trace, "each"), Around(trace, "B")]
    )
    await client.enqueue("a.b")
    assert trace == ["A-in 1", "B-in 1", "each-in", "each-out", "B-out 1", "A-out 1"]
    trace.clear()
    await client.enqueue_many([Job("a.b"), Job("a.b")])
    outside, inside = trace[:2] + trace[-2:], trace[2:-2]
    assert outside == ["A-in 2", "B-in 2", "B-out 2", "A-out 2"]
    assert inside == ["each-in", "each-in", "each-out", "each-out"]


async def test_river_008_it_may_change_jobs_before_and_sees_each_outcome_after() -> None:
    seen: list[EnqueueResult] = []

    class Span:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            for given in jobs:
                given.meta["span"] = "s-1"
            results = await call_next(jobs)
            seen.extend(results)
            return results

    class DropsOdd:
        name = "odd"

        async def call(self, job: Job, call_next: Any) -> Any:
            return await call_next(job) if job.args[0] % 2 == 0 else None  # type: ignore[operator]

    transport = FakeTransport()
    client = client_with(transport, middleware=[Span(), DropsOdd()])
    results = await client.enqueue_many([Job("a.b", [n]) for n in range(4)])
    assert [job.meta["span"] for job in transport.batches[0]] == ["s-1", "s-1"]
    assert [result.status for result in seen] == [result.status for result in results]
    assert [result.dropped_by for result in seen] == ["", "odd", "", "odd"]


async def test_river_004_forgetting_call_next_is_an_error() -> None:
    """Otherwise a whole batch would be lost without a word."""

    class Forgets:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            return []

    class ForgetsToAwait:
        def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            call_next(jobs)
            return []

    transport = FakeTransport()
    with pytest.raises(NextNotCalledError, match="'forgets'"):
        await client_with(transport, middleware=[Forgets]).enqueue("a.b")
    with pytest.raises(NextNotAwaitedError, match="forgets_to_await"):
        await client_with(transport, middleware=[ForgetsToAwait]).enqueue("a.b")
    assert (transport.pushed, transport.batches) == ([], [])


async def test_river_004_call_next_goes_on_once() -> None:
    class Twice:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            await call_next(jobs)
            return await call_next(jobs)

    transport = FakeTransport()
    with pytest.raises(NextCalledTwiceError) as raised:
        await client_with(transport, middleware=[Twice]).enqueue("a.b")
    assert len(transport.pushed) == 1
    assert raised.value.stored_job_ids == (transport.pushed[0].id,)  # type: ignore[attr-defined]


async def test_river_005_an_error_after_call_next_names_the_stored_jobs() -> None:
    class FailsAfter:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            await call_next(jobs)
            raise OSError("the span could not be sent")

    transport = FakeTransport()
    client = client_with(transport, middleware=[FailsAfter])
    with pytest.raises(OSError, match="span") as raised:
        await client.enqueue_many([Job("a.b"), Job("a.b")])
    stored = tuple(job.id for job in transport.batches[0])
    assert raised.value.stored_job_ids == stored  # type: ignore[attr-defined]


async def test_jobs_that_are_not_passed_on_are_dropped_by_name() -> None:
    """MW-ENQ-020, for batches: one outcome for each job, in order; the rest is one batch."""

    class Half:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            return await call_next(jobs[::2])

    transport = FakeTransport()
    client = client_with(transport, middleware=[Half])
    results = await client.enqueue_many([Job("a.b", [n]) for n in range(5)])
    assert [result.dropped_by for result in results] == ["", "half", "", "half", ""]
    assert [job.args for job in transport.batches[0]] == [[0], [2], [4]]
    one = await client.enqueue("a.b")
    assert one.is_enqueued
    with pytest.raises(BatchRejectedError):
        await client.enqueue_many([Job("a.b"), Job("a.b")], atomic=True)
    assert len(transport.batches) == 1


async def test_it_cannot_add_jobs() -> None:
    class Adds:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            return await call_next([*jobs, Job("a.b", id="01900000-0000-7000-8000-00000000ffff")])

    transport = FakeTransport()
    with pytest.raises(IdChangedError, match="not given"):
        await client_with(transport, middleware=[Adds]).enqueue("a.b")
    assert transport.pushed == []


async def test_outcomes_that_it_does_not_return_stay_as_they_were() -> None:
    """It is warned of, since it looks as if every job had been dropped."""

    class Silent:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> None:
            await call_next(jobs)

    client = client_with(FakeTransport(), middleware=[Silent])
    with pytest.warns(RuntimeWarning, match="did not return"):
        result = await client.enqueue("a.b")
    assert result.is_enqueued


async def test_who_swallows_the_storing_s_error_gets_failed_outcomes() -> None:
    class Swallows:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
            try:
                return await call_next(jobs)
            except OSError:
                return []

    class Down(FakeTransport):
        async def push_all(self, jobs: Any) -> Any:
            raise OSError("down")

    [result] = await client_with(Down(), middleware=[Swallows]).enqueue_many([Job("a.b")])
    assert (result.status, type(result.error)) == (EnqueueStatus.FAILED, OSError)


class Leaves:
    """Passes on only so many jobs."""

    def __init__(self, count: int) -> None:
        self.count = count

    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
        return await call_next(jobs[: self.count])


@pytest.mark.parametrize("count", [0, 1])
async def test_an_atomic_batch_is_refused_when_a_job_is_left_out(
    count: int,
) -> None:
    """Also when nothing remains to be stored; the error has the outcome of each job."""
    transport = FakeTransport()
    client = client_with(transport, middleware=[Leaves(count)])
    with pytest.raises(BatchRejectedError) as refused:
        await client.enqueue_many([Job("a.b"), Job("a.b")], atomic=True)
    assert transport.batches == []
    assert [result.is_enqueued for result in refused.value.results] == [False, False]
    assert [result.dropped_by for result in refused.value.results[count:]] == ["leaves"] * (
        2 - count
    )


async def test_a_single_job_s_error_is_raised_though_a_middleware_swallowed_it() -> None:
    """A caller of ``enqueue`` must not have to ask the result for an error."""

    class Swallows:
        async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
            try:
                return await call_next(jobs)
            except ValueError:
                return []

    class Refuses:
        async def enqueue(self, job: Job, call_next: Any) -> Job | None:
            raise ValueError("no")

    class InTransactions(FakeTransport):
        async def transact(self, job: Job) -> Any:
            raise AssertionError("the job was refused")

    client = client_with(InTransactions(), middleware=[Swallows(), Refuses()])
    with pytest.raises(ValueError, match="no"):
        await client.enqueue("a.b")
    with pytest.raises(ValueError, match="no"):
        await client.transact_item("a.b")


@pytest.mark.parametrize("is_stored", [True, False])
async def test_a_middleware_that_stops_waiting_fails_only_its_own_job(
    is_stored: bool,
) -> None:
    """Its job is stored with the others, and its error says so."""
    given_up = asyncio.Event()

    class Impatient:
        async def enqueue(self, job: Job, call_next: Any) -> Job | None:
            if job.type != "a.impatient":
                result: Job | None = await call_next(job)
                return result
            waiting = asyncio.ensure_future(call_next(job))
            for _ in range(10):  # until it waits to be stored with the others
                await asyncio.sleep(0)
            waiting.cancel()
            try:
                return await asyncio.shield(waiting)
            except asyncio.CancelledError:
                given_up.set()
                raise TimeoutError("too slow") from None

    class Slow(FakeTransport):
        async def push_all(self, jobs: Any) -> Any:
            await given_up.wait()
            if not is_stored:
                raise BackendError("no")
            return await super().push_all(jobs)

    client = client_with(Slow(), middleware=[Impatient()])
    batch = [Job("a.impatient"), Job("a.b")]
    if not is_stored:
        with pytest.raises(BackendError):
            await client.enqueue_many(batch)
        return
    impatient, patient = await client.enqueue_many(batch)
    assert patient.is_enqueued
    assert isinstance(impatient.error, TimeoutError)
    assert impatient.error.stored_job_ids == (impatient.id,)  # type: ignore[attr-defined]
