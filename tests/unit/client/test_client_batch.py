"""Enqueuing many: the middleware for each job, one atomic batch for those that come through."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ojs_aws.client import BatchRejectedError, EnqueueStatus
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from tests.unit.client.doubles import FakeServer, error

Next = Callable[[Job], Awaitable[Any]]


async def gate(job: Job, call_next: Next) -> Any:
    """Drops what has the argument "drop", fails what has "fail"."""
    if job.args == ["drop"]:
        return None
    if job.args == ["fail"]:
        raise KeyError("schema")
    return await call_next(job)


def jobs(*args: str) -> list[Job]:
    return [Job("a.b", [arg]) for arg in args]


async def test_mw_batch_003_005_survivors_are_one_batch_with_aligned_outcomes() -> None:
    """MW-BATCH-003, MW-BATCH-005, MW-ENQ-020: one dropped, one raising, eight sent at once."""
    server = FakeServer()
    args = [str(n) for n in range(10)]
    args[3], args[7] = "drop", "fail"
    results = await server.client(middleware=[gate]).enqueue_many(jobs(*args))
    assert [request.url.path for request in server.requests] == ["/ojs/v1/jobs/batch"]
    assert len(server.bodies()[0]["jobs"]) == 8
    assert [result.job.args for result in results] == [[arg] for arg in args]
    statuses = [result.status for result in results]
    assert statuses[3] is EnqueueStatus.DROPPED
    assert statuses[7] is EnqueueStatus.FAILED
    assert statuses.count(EnqueueStatus.ENQUEUED) == 8
    assert isinstance(results[7].error, KeyError)
    assert "gate" in results[3].dropped_by


async def test_appendix_a_batch_enqueue_runs_the_chain_for_each_job() -> None:
    """MW-BATCH-001: ten calls, each with its own job and id."""
    server, seen = FakeServer(), []

    async def count(job: Job, call_next: Next) -> Any:
        seen.append((job.args[0], job.id))
        return await call_next(job)

    await server.client(middleware=[count]).enqueue_many(jobs(*"0123456789"))
    assert [arg for arg, _ in seen] == list("0123456789")
    assert len({job_id for _, job_id in seen}) == 10


async def test_mw_chain_022_middleware_goes_on_after_the_batch_is_stored() -> None:
    """MW-CHAIN-022: after ``call_next`` each sees its own stored job."""
    server, after = FakeServer(), []

    async def look(job: Job, call_next: Next) -> Any:
        stored = await call_next(job)
        after.append((stored.id, stored.state, len(server.requests)))
        return stored

    results = await server.client(middleware=[look]).enqueue_many(jobs("1", "2"))
    assert sorted(after) == sorted((result.id, "available", 1) for result in results)


async def test_nothing_is_sent_when_nothing_survives() -> None:
    """An empty batch is no request."""
    server = FakeServer()
    results = await server.client(middleware=[gate]).enqueue_many(jobs("drop", "drop"))
    assert [result.is_dropped for result in results] == [True, True]
    assert server.requests == []
    assert await server.client().enqueue_many([]) == []


@pytest.mark.parametrize("bad", ["drop", "fail"])
async def test_mw_batch_004_atomic_means_all_or_none(bad: str) -> None:
    """MW-BATCH-004: one rejection, and none is enqueued."""
    server, seen = FakeServer(), []

    async def outer(job: Job, call_next: Next) -> Any:
        try:
            return await call_next(job)
        except BatchRejectedError:
            seen.append(job.args[0])
            raise

    with pytest.raises(BatchRejectedError) as raised:
        await server.client(middleware=[outer, gate]).enqueue_many(jobs("1", bad, "2"), atomic=True)
    assert server.requests == []
    assert len(raised.value.results) == 3
    assert seen == ["1", "2"]
    assert isinstance(raised.value.__cause__, KeyError if bad == "fail" else type(None))


async def test_a_batch_that_the_backend_refuses_raises_with_the_caller_s_index() -> None:
    """Index 1 of the survivors is index 2 of the caller's list; every chain learns of it."""
    server, seen = FakeServer(), []
    server.script = [error(400, "invalid_request", details={"index": 1})]

    async def outer(job: Job, call_next: Next) -> Any:
        try:
            return await call_next(job)
        except InvalidRequestError:
            seen.append(job.args[0])
            raise

    with pytest.raises(InvalidRequestError) as raised:
        await server.client(middleware=[outer, gate]).enqueue_many(jobs("1", "drop", "2"))
    assert raised.value.details["index"] == 2
    assert seen == ["1", "2"]


async def test_an_error_after_the_storing_is_that_job_s_alone() -> None:
    """The others are enqueued, and so is this one; its result says what was raised."""
    server = FakeServer()

    async def late(job: Job, call_next: Next) -> Any:
        stored = await call_next(job)
        if job.args == ["2"]:
            raise RuntimeError("too late")
        return stored

    results = await server.client(middleware=[late]).enqueue_many(jobs("1", "2"))
    assert [result.status for result in results] == [EnqueueStatus.ENQUEUED, EnqueueStatus.FAILED]
    assert len(server.jobs) == 2
    assert results[1].error is not None


async def test_what_the_backends_middleware_dropped_has_its_own_outcome() -> None:
    """A job that is missing from the answer was dropped there."""
    server = FakeServer()

    def without_the_second() -> Any:
        from tests.unit.client.doubles import answer

        first, second = json.loads(server.requests[-1].content)["jobs"]
        dropped = [{"id": second["id"], "dropped_by": "dedup"}]
        return answer(201, {"jobs": [first], "count": 1, "dropped": dropped})

    server.script = [without_the_second]
    results = await server.client().enqueue_many(jobs("1", "2"))
    assert [bool(result) for result in results] == [True, False]
    assert results[1].dropped_by == "dedup"
