"""Inline mode runs a job as soon as it is enqueued, and its error goes to who enqueued it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from ojs_aws import Client, Job, JobContext, Jobs, LambdaWorker, SyncClient, chain
from ojs_aws.testing import Ojs
from tests.unit.testing.orders import break_down, build_report, send_mail


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.inline() as ojs:
        yield ojs


async def test_a_job_runs_before_enqueue_returns(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c", 1)
    ojs.assert_completed(send_mail, count=1)
    assert await handle.result() == "a@b.c:1:False"


def test_a_synchronous_caller_gets_the_result_as_well(ojs: Ojs) -> None:
    handle = build_report.enqueue_sync("monday")
    assert handle.result() == {"monday": 1}


async def test_the_clients_of_the_application_run_jobs_too(ojs: Ojs) -> None:
    enqueued = await Client("https://nowhere.invalid").enqueue("orders.report", ["monday"])
    assert enqueued.job.state == "completed"
    with SyncClient("https://nowhere.invalid") as client:
        many = client.enqueue_many([Job("orders.report", ["a"]), Job("orders.report", ["b"])])
    assert [each.job.state for each in many] == ["completed", "completed"]


async def test_an_error_of_the_handler_goes_to_the_caller_without_a_retry(ojs: Ojs) -> None:
    with pytest.raises(ValueError, match="number 7"):
        await break_down.enqueue(7)
    [job] = ojs.assert_failed(break_down)
    assert (job.state, job.attempt) == ("discarded", 1)


def test_an_error_of_the_handler_goes_to_a_synchronous_caller(ojs: Ojs) -> None:
    with pytest.raises(ValueError, match="number 7"):
        break_down.enqueue_sync(7)


async def test_an_error_on_purpose_goes_to_the_caller(ojs: Ojs) -> None:
    ojs.fail_next(send_mail, TimeoutError("SMTP"))
    with pytest.raises(TimeoutError, match="SMTP"):
        await send_mail.enqueue("a@b.c")
    await send_mail.enqueue("a@b.c")
    ojs.assert_completed(send_mail, count=1)


async def test_a_delay_does_not_count(ojs: Ojs) -> None:
    await send_mail.options(delay="24h").enqueue("a@b.c")
    [job] = ojs.assert_completed(send_mail)
    assert job.scheduled_at is not None


async def test_a_job_that_would_end_before_its_time_runs_now(ojs: Ojs) -> None:
    """It is not over yet, and its delay does not count."""
    due, end = ojs.now + timedelta(hours=2), ojs.now + timedelta(hours=1)
    await send_mail.options(scheduled_at=due, expires_at=end).enqueue("a@b.c")
    ojs.assert_completed(send_mail, count=1)


async def test_a_job_that_is_over_does_not_run(ojs: Ojs) -> None:
    await send_mail.options(expires_at=ojs.now - timedelta(hours=1)).enqueue("a")
    [job] = ojs.all_enqueued()
    assert job.state == "discarded"


async def test_both_chains_of_middleware_run_around_the_job() -> None:
    seen: list[str] = []

    async def enqueueing(job: Job, call_next: Any) -> Any:
        seen.append("enqueue")
        stored = await call_next(job)
        seen.append("enqueued")
        return stored

    async def executing(job: Job, ctx: JobContext, call_next: Any) -> Any:
        seen.append("execute")
        result = await call_next()
        seen.append("executed")
        return result

    worker = LambdaWorker(middleware=[executing])

    @worker.handler("plain.job")
    async def run(ctx: JobContext) -> None:
        seen.append("run")

    with Ojs.inline(worker=worker, middleware=[enqueueing]) as ojs:
        await ojs.client.enqueue("plain.job")
    assert seen == ["enqueue", "execute", "run", "executed", "enqueued"]


async def test_a_job_that_enqueues_another_waits_for_it(ojs: Ojs) -> None:
    jobs, order = Jobs(), []

    @jobs.job("inner.job")
    async def inner(name: str) -> None:
        order.append(f"inner {name}")

    @jobs.job("outer.job")
    async def outer() -> None:
        order.append("outer begins")
        await inner.enqueue("async")
        inner.enqueue_sync("sync")
        order.append("outer ends")

    await outer.enqueue()
    assert order == ["outer begins", "inner async", "inner sync", "outer ends"]
    order.clear()
    await asyncio.to_thread(outer.enqueue_sync)
    assert order == ["outer begins", "inner async", "inner sync", "outer ends"]
    ojs.assert_completed("inner.job", count=4)


async def test_the_steps_of_a_workflow_run_one_after_the_other(ojs: Ojs) -> None:
    handle = await chain(send_mail.call("a@b.c"), build_report.call("monday")).enqueue()
    assert await handle.result() == {"monday": 1}
    [workflow] = ojs.assert_workflow_created("chain")
    assert workflow.state == "completed"


async def test_a_pending_job_runs_when_it_is_activated(ojs: Ojs) -> None:
    enqueued = await ojs.client.enqueue("orders.report", ["monday"], pending=True)
    ojs.refute_performed("orders.report")
    assert (await ojs.client.activate(enqueued.id)).state == "completed"


async def test_a_drain_has_nothing_to_do(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    assert len(await ojs.drain()) == 0


async def test_a_duplicate_is_refused_only_while_the_first_is_there(ojs: Ojs) -> None:
    unique: dict[str, Any] = {"keys": ["type"], "states": ["available", "active"]}
    await ojs.client.enqueue("orders.report", ["a"], unique=unique)
    await ojs.client.enqueue("orders.report", ["b"], unique=unique)
    ojs.assert_completed("orders.report", count=2)


def test_many_threads_run_jobs_that_enqueue_others(ojs: Ojs) -> None:
    """More than there are threads in a pool: none waits for another one."""
    jobs = Jobs()

    @jobs.job("counting.job")
    def count_down(number: int) -> int:
        return count_down.enqueue_sync(number - 1).result() + 1 if number else 0

    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda _: count_down.enqueue_sync(10).result(), range(8))
        assert [*found] == [10] * 8


def test_a_scheduled_job_that_waits_for_its_turn_does_not_run(ojs: Ojs) -> None:
    jobs = [
        Job("orders.report", ["a"], sequence="k"),
        Job("orders.report", ["b"], sequence="k", scheduled_at="+10s"),
    ]
    with SyncClient("https://nowhere.invalid") as client:
        states = [each.job.state for each in client.enqueue_many(jobs)]
    assert states == ["completed", "scheduled"]
    ojs.assert_completed(build_report, count=1)
