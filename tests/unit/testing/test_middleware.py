"""Helpers for authors of middleware: a chain around one job, and a record of its layers."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws import Job, JobContext, current_job
from ojs_aws.middleware import EnqueueChain, ExecutionChain
from ojs_aws.middleware.results import NextCalledTwiceError, NextNotAwaitedError
from ojs_aws.testing import (
    run_enqueue,
    run_enqueue_sync,
    run_execution,
    run_execution_sync,
)
from tests.unit.testing.shop import count, send_mail


class Tenant:
    """Adds a tenant to jobs, and to the context of their execution."""

    async def enqueue(self, job: Job, call_next: Any) -> Job | None:
        job.meta["tenant"] = "t1"
        stored: Job | None = await call_next(job)
        return stored

    async def execute(self, job: Job, ctx: JobContext, call_next: Any) -> object:
        ctx.metadata["tenant"] = "t1"
        return await call_next()


class Doubling:
    """Doubles the results of jobs."""

    async def execute(self, job: Job, ctx: JobContext, call_next: Any) -> object:
        return 2 * await call_next()


def passing(job: Job, call_next: Any) -> Any:
    return call_next(job)


async def test_the_layers_are_recorded_in_their_order() -> None:
    trace = await run_execution([Tenant(), Doubling()], count.call(2))
    assert trace.order == [
        "enter tenant",
        "enter doubling",
        "handler",
        "leave doubling",
        "leave tenant",
    ]
    assert trace.result == 1200


async def test_a_layer_has_what_it_changed() -> None:
    trace = await run_enqueue([passing, Tenant()], "a.b")
    assert trace.layer("tenant").changed == {"meta": (None, {"tenant": "t1"})}
    assert trace.layer("passing").changed == {}
    assert trace.stored is not None
    assert trace.stored.meta == trace.job.meta == {"tenant": "t1"}
    executed = await run_execution([Tenant()], "a.b")
    assert executed.layer("tenant").changed == {"metadata": ({}, {"tenant": "t1"})}
    assert executed.context.metadata == {"tenant": "t1"}


async def test_a_job_that_is_returned_is_passed_on() -> None:
    def rename(job: Job, call_next: Any) -> Job:
        return job.copy(queue="other")

    trace = await run_enqueue([rename, passing], Job("a.b", [1]))
    assert trace.order == [
        "enter rename",
        "leave rename",
        "enter passing",
        "store",
        "leave passing",
    ]
    assert trace.layer("rename").has_gone_on
    assert trace.layer("rename").changed == {"queue": ("default", "other")}


async def test_a_dropped_job_is_not_stored_and_its_middleware_is_named() -> None:
    async def drop(job: Job, call_next: Any) -> None:
        return None

    trace = await run_enqueue([Tenant(), drop, passing], "a.b")
    assert (trace.stored, trace.result, trace.dropped_by) == (None, None, "drop")
    assert trace.order == ["enter tenant", "enter drop", "leave drop", "leave tenant"]
    with pytest.raises(LookupError, match=r"'passing' did not run\. These did: tenant, drop"):
        trace.layer("passing")


async def test_a_second_call_of_call_next_is_refused_by_name() -> None:
    async def twice(job: Job, ctx: JobContext, call_next: Any) -> object:
        await call_next()
        return await call_next()

    trace = await run_execution([Tenant(), twice], "a.b")
    assert isinstance(trace.error, NextCalledTwiceError)
    assert "'twice'" in str(trace.error)
    assert trace.layer("twice").error is trace.error


async def test_a_call_next_that_is_not_awaited_is_refused_by_name() -> None:
    async def forgets(job: Job, ctx: JobContext, call_next: Any) -> None:
        call_next()

    async def forgets_to_store(job: Job, call_next: Any) -> Job:
        call_next(job)
        return job

    executed = await run_execution([forgets, Doubling()], "a.b")
    enqueued = await run_enqueue([forgets_to_store, Tenant()], "a.b")
    for trace in (executed, enqueued):
        assert isinstance(trace.error, NextNotAwaitedError)
        assert "'forgets" in str(trace.error)
    with pytest.raises(NextNotAwaitedError):
        executed.result  # noqa: B018 - the error of the chain


async def test_an_error_of_the_handler_passes_every_layer() -> None:
    trace = await run_execution([Tenant(), Doubling()], send_mail.call("nobody"))
    assert [type(each.error) for each in trace.layers] == [ValueError, ValueError]
    assert str(trace).splitlines()[-1] == "ValueError: 'nobody' is no address"


async def test_a_handler_takes_the_context_and_the_arguments() -> None:
    def handle(ctx: JobContext, text: str) -> list[object]:
        return [text, ctx.attempt, current_job() is ctx]

    trace = await run_execution([], Job("a.b", ["x"]), handle, attempt=3)
    assert trace.result == ["x", 3, True]
    assert (await run_execution([Doubling()], count.call(1), count)).result == 600


async def test_a_store_that_fails_is_seen_by_the_layers() -> None:
    def full(job: Job) -> Job:
        raise ConnectionError("no network")

    trace = await run_enqueue([Tenant()], "a.b", store=full)
    assert trace.layer("tenant").error is trace.error
    assert isinstance(trace.error, ConnectionError)


def test_chains_and_code_without_async_are_taken() -> None:
    """A chain of the application stays as it is."""
    enqueueing, execution = EnqueueChain([Tenant()]), ExecutionChain([Tenant(), Doubling()])
    assert run_enqueue_sync(enqueueing, send_mail.call("a@b.c")).result.type == "shop.send_mail"
    assert run_execution_sync(execution, count.call(2)).result == 1200
    assert not enqueueing.is_frozen
    assert not execution.is_frozen


async def test_the_trace_can_be_printed() -> None:
    trace = await run_execution([Tenant(), Doubling()], count.call(2))
    assert str(trace) == (
        "enter tenant\n"
        "  metadata: {} -> {'tenant': 't1'}\n"
        "  enter doubling\n"
        "    handler\n"
        "  leave doubling\n"
        "leave tenant"
    )
