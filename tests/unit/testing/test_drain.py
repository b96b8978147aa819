"""A drain runs jobs in the execution chain, by the real lifecycle and the clock of the test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ojs_aws import Job, JobContext, Jobs, LambdaWorker
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.testing import DrainError, Ojs, drain
from tests.unit.testing.orders import (
    break_down,
    build_report,
    enqueue_itself,
    send_mail,
    wait_for_ever,
)


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.fake() as ojs:
        yield ojs


async def test_a_drain_runs_all_jobs_and_keeps_their_results(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c", 1)
    await build_report.enqueue("monday")
    report = await ojs.drain()
    assert [each.job.type for each in report.executions] == ["orders.mail", "orders.report"]
    assert [job.state for job in ojs.all_enqueued()] == ["completed", "completed"]
    assert ojs.all_enqueued(send_mail)[0].returned == "a@b.c:1:False"
    assert ojs.all_enqueued(build_report)[0].returned == {"monday": 1}


def test_a_drain_needs_no_event_loop(ojs: Ojs) -> None:
    send_mail.enqueue_sync("a@b.c")
    assert len(ojs.drain_sync()) == 1


async def test_a_drain_without_await_works_within_an_event_loop(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    assert len(ojs.drain_sync()) == 1
    assert ojs.all_enqueued()[0].state == "completed"


async def test_a_drain_of_one_queue_leaves_the_others(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    await build_report.enqueue("monday")
    await ojs.drain("mail")
    assert [job.state for job in ojs.all_enqueued()] == ["completed", "available"]


async def test_a_drain_of_a_queue_that_never_was_is_refused(ojs: Ojs) -> None:
    with pytest.raises(ValueError, match=r"No job was in the queue 'mial'.* Did you mean 'mail'"):
        await ojs.drain("mial")
    assert len(await ojs.drain("mail")) == 0


async def test_a_drain_of_some_jobs_leaves_the_rest(ojs: Ojs) -> None:
    for number in range(3):
        await send_mail.enqueue("a@b.c", number)
    assert len(await ojs.drain(max_jobs=2)) == 2
    assert [job.state for job in ojs.all_enqueued()] == ["completed", "completed", "available"]


async def test_jobs_run_by_priority_and_then_in_their_order(ojs: Ojs) -> None:
    await send_mail.enqueue("1")
    await send_mail.options(priority=10).enqueue("2")
    await send_mail.enqueue("3")
    report = await ojs.drain()
    assert [each.job.args[0] for each in report.executions] == ["2", "1", "3"]


# -------------------------------------------------------------------------------- failures
async def test_a_failing_drain_names_the_job_with_its_traceback(ojs: Ojs) -> None:
    handle = await break_down.enqueue(7)
    with pytest.raises(DrainError) as failed:
        await ojs.drain()
    message = str(failed.value)
    assert f"orders.broken {handle.id}, attempt 1 of 2, args=[7]: failed" in message
    assert "in break_down\n    raise ValueError" in message
    assert "worker/executor.py" not in message
    assert isinstance(failed.value.report.failures[0].error, ValueError)


async def test_a_drain_that_reports_errors_does_not_raise(ojs: Ojs) -> None:
    await break_down.enqueue(7)
    report = await ojs.drain(raise_errors=False)
    assert [str(each.error) for each in report.failures] == ["number 7"]


async def test_a_failed_job_is_retried_when_its_time_comes(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    ojs.fail_next(send_mail, TimeoutError("SMTP"))
    await ojs.drain()
    [job] = ojs.all_enqueued()
    assert (job.state, job.attempt) == ("retryable", 1)
    assert len(await ojs.drain()) == 0
    ojs.advance_time("1h")
    await ojs.drain()
    [job] = ojs.all_enqueued()
    assert (job.state, job.attempt) == ("completed", 2)


async def test_a_drain_with_scheduled_jobs_goes_on_to_the_retries(ojs: Ojs) -> None:
    await break_down.enqueue(7)
    before = ojs.now
    report = await ojs.drain(with_scheduled=True, raise_errors=False)
    assert report.count("failed") == 2
    assert ojs.all_enqueued()[0].state == "discarded"
    assert ojs.now - before >= timedelta(seconds=1)


async def test_all_executions_of_a_type_can_fail(ojs: Ojs) -> None:
    ojs.fail_all("orders.mail", ConnectionError)
    await send_mail.enqueue("a@b.c")
    report = await ojs.drain(with_scheduled=True)
    assert report.count("failed") == 3
    [job] = ojs.all_enqueued()
    assert (job.state, (job.error or {})["type"]) == ("discarded", "ConnectionError")


async def test_a_job_without_a_handler_fails_plainly(ojs: Ojs) -> None:
    await ojs.client.enqueue("orders.mial", [1])
    with pytest.raises(DrainError, match=r"No handler .*'orders.mial'. Did you mean 'orders.mail'"):
        await ojs.drain()
    assert ojs.all_enqueued()[0].state == "discarded"


async def test_arguments_that_do_not_fit_fail_the_drain(ojs: Ojs) -> None:
    """A worker lets such a job wait for a newer worker; in a test there is none."""
    await ojs.client.enqueue("orders.mail", [])
    with pytest.raises(DrainError, match="the argument 'to' did not come"):
        await ojs.drain()
    assert ojs.all_enqueued()[0].state == "retryable"


async def test_arguments_of_a_wrong_type_fail_the_drain(ojs: Ojs) -> None:
    await ojs.client.enqueue("orders.mail", [1])
    with pytest.raises(DrainError, match=r"The argument 'to' of 'orders.mail' must be"):
        await ojs.drain()


async def test_a_type_that_two_declare_needs_a_sender_or_a_choice(ojs: Ojs) -> None:
    one, other = Jobs(), Jobs()

    @one.job("twice.declared")
    async def first() -> str:
        return "first"

    @other.job("twice.declared")
    async def second() -> str:
        return "second"

    await ojs.client.enqueue("twice.declared")
    with pytest.raises(DrainError, match="declared by several Jobs"):
        await ojs.drain()
    await second.enqueue()
    await ojs.drain()
    assert ojs.all_enqueued(second)[1].returned == "second"
    with Ojs.fake(jobs=one) as chosen:
        await chosen.client.enqueue("twice.declared")
        await chosen.drain()
        assert chosen.all_enqueued(first)[0].returned == "first"


# ---------------------------------------------------------------------------- nothing hangs
async def test_a_job_that_is_always_snoozed_ends_the_drain(ojs: Ojs) -> None:
    await wait_for_ever.enqueue()
    with pytest.raises(DrainError, match="executed 100 times in one drain: it is snoozed"):
        await ojs.drain(with_scheduled=True, timeout="1h")


async def test_a_job_that_enqueues_itself_ends_the_drain(
    ojs: Ojs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 1,000 times, here fewer, and its message differs from that of a job that hangs."""
    assert drain.MAX_GENERATIONS == 1000
    monkeypatch.setattr(drain, "MAX_GENERATIONS", 60)
    await enqueue_itself.enqueue()
    with pytest.raises(DrainError, match=r"'orders.again' was executed 60 times: it enqueues"):
        await ojs.drain(timeout="1h")


async def test_a_slow_job_that_enqueues_itself_is_named(
    ojs: Ojs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hour of the drain is over while the fifth one is executed."""
    monkeypatch.setattr("ojs_aws.testing.drain.MANY_GENERATIONS", 2)
    loop, jobs = asyncio.get_running_loop(), Jobs()
    end = loop.time() + 7200

    @jobs.job("orders.slowly_again")
    async def again(number: int) -> None:
        if number == 5:
            monkeypatch.setattr(loop, "time", lambda: end)
        await again.enqueue(number + 1)

    await again.enqueue(1)
    with pytest.raises(DrainError) as failed:
        await ojs.drain(timeout="1h")
    assert "'orders.slowly_again' was executed " in str(failed.value)
    assert "does it enqueue itself" in str(failed.value)


async def test_many_jobs_of_one_parent_are_no_loop(
    ojs: Ojs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_aws.testing.drain.MAX_GENERATIONS", 2)
    jobs = Jobs()

    @jobs.job("parent.of_many")
    async def parent() -> None:
        for number in range(20):
            await send_mail.enqueue("a@b.c", number)

    await parent.enqueue()
    assert len(await ojs.drain()) == 21


async def test_too_many_jobs_end_the_drain(ojs: Ojs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ojs_aws.testing.drain.MAX_EXECUTIONS", 20)
    for number in range(25):
        await send_mail.enqueue("a@b.c", number)
    with pytest.raises(DrainError, match=r"executed 20 jobs.*'orders.mail' was executed 20 times"):
        await ojs.drain()
    assert len(await ojs.drain(max_jobs=30)) == 4


async def test_a_job_that_hangs_ends_the_drain(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("hanging.job")
    async def hang() -> None:
        await asyncio.Event().wait()

    handle = await hang.enqueue()
    with pytest.raises(DrainError, match=f"hanging.job {handle.id}, attempt 1, was still running"):
        await ojs.drain(timeout="50ms")
    with pytest.raises(InvalidRequestError, match='needs a unit: "30s"'):
        await ojs.drain(timeout=30)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------- time
async def test_a_delayed_job_runs_when_its_time_comes(ojs: Ojs) -> None:
    await send_mail.options(delay="24h").enqueue("a@b.c")
    assert len(await ojs.drain()) == 0
    ojs.advance_time("PT23H59M")
    assert len(await ojs.drain()) == 0
    ojs.advance_time("1m")
    assert ojs.all_enqueued()[0].state == "available"
    assert len(await ojs.drain()) == 1


async def test_a_drain_moves_the_clock_on_to_scheduled_jobs(ojs: Ojs) -> None:
    ojs.freeze_time("2026-02-13T10:00:00Z")
    await send_mail.options(delay="24h").enqueue("a@b.c")
    await ojs.drain(with_scheduled=True)
    assert ojs.all_enqueued()[0].state == "completed"
    assert ojs.now == datetime(2026, 2, 14, 10, tzinfo=UTC)


async def test_a_drain_of_one_queue_waits_for_no_other_queues_jobs(ojs: Ojs) -> None:
    """The clock stays where the own last job was due; jobs of other queues run when asked for."""
    began = ojs.now
    await send_mail.options(delay="2h").enqueue("mine")
    await build_report.options(delay="1h").enqueue("sooner")
    await build_report.options(delay="3h").enqueue("later")
    report = await ojs.drain("mail", with_scheduled=True)
    assert [each.job.args[0] for each in report.executions] == ["mine"]
    assert ojs.now - began == timedelta(hours=2)
    assert [job.state for job in ojs.all_enqueued(build_report)] == ["available", "scheduled"]
    assert len(await ojs.drain("mail", with_scheduled=True)) == 0
    assert ojs.now - began == timedelta(hours=2)


async def test_a_job_for_a_time_of_this_machine_is_due_after_as_long(ojs: Ojs) -> None:
    await asyncio.sleep(0.01)
    soon = datetime.now(UTC) + timedelta(minutes=10)
    await send_mail.options(scheduled_at=soon).enqueue("a@b.c")
    ojs.advance_time(timedelta(minutes=10))
    assert len(await ojs.drain()) == 1


async def test_an_expired_job_does_not_run(ojs: Ojs) -> None:
    await send_mail.options(expires_at=datetime.now(UTC) + timedelta(hours=1)).enqueue("a@b.c")
    ojs.advance_time("2h")
    assert len(await ojs.drain()) == 0
    assert ojs.all_enqueued()[0].state == "discarded"


# ---------------------------------------------------------------------------------- workers
async def test_a_worker_runs_its_handlers_in_its_middleware(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []

    async def trace(job: Job, ctx: JobContext, call_next: Any) -> Any:
        seen.append(f"before {job.type}")
        result = await call_next()
        seen.append("after")
        return result

    worker = LambdaWorker(middleware=[trace])

    @worker.handler("plain.job")
    async def run(ctx: JobContext, number: int) -> int:
        return number + ctx.attempt

    with Ojs.fake(worker=worker) as ojs:
        await ojs.client.enqueue("plain.job", [1])
        await ojs.drain()
        assert ojs.all_enqueued()[0].result == 2
        await send_mail.enqueue("a@b.c")
        with pytest.raises(DrainError, match=r"No handler is registered for 'orders.mail'"):
            await ojs.drain()
    assert seen == ["before plain.job", "after"]
    assert "No handler is registered" in caplog.text
    assert "Deploy a worker" not in caplog.text, "which is advice for production"


async def test_a_job_of_other_jobs_names_the_setting(ojs: Ojs) -> None:
    """The handlers of a test may be those of one worker only."""
    with Ojs.fake(worker=LambdaWorker()) as chosen:
        await send_mail.enqueue("a@b.c")
        with pytest.raises(DrainError, match=r"Other Jobs declare it.*ojs_worker"):
            await chosen.drain()


async def test_a_traceback_has_no_frames_of_this_package(ojs: Ojs) -> None:
    """Not of causes, either."""
    jobs = Jobs()

    @jobs.job("sends.wrongly")
    async def send_wrongly() -> None:
        try:
            await send_mail.enqueue(1)  # type: ignore[arg-type]
        except TypeError as problem:
            raise RuntimeError("no mail") from problem

    await send_wrongly.enqueue()
    with pytest.raises(DrainError, match="RuntimeError: no mail") as failed:
        await ojs.drain()
    assert "typed_jobs/senders.py" not in str(failed.value)
    assert str(failed.value).count("in send_wrongly") == 2


async def test_a_drain_opens_resources_unless_the_test_gives_its_own(ojs: Ojs) -> None:
    jobs, log = Jobs(), []

    @jobs.resource
    async def pool() -> AsyncIterator[str]:
        log.append("open")
        yield "real"
        log.append("close")

    @jobs.job("pool.user")
    async def use_pool() -> None:
        log.append(pool.get())

    await use_pool.enqueue()
    await use_pool.enqueue()
    await ojs.drain()
    assert log == ["open", "real", "real", "close"]
    log.clear()
    await use_pool.enqueue()
    with pool.use("fake"):
        await ojs.drain()
    assert log == ["fake"]


def connect() -> str:
    raise ConnectionError("no database")


async def test_a_resource_that_cannot_be_opened_says_what_to_do(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.resource
    async def pool() -> AsyncIterator[str]:
        yield connect()

    @jobs.job("pool.user")
    async def use_pool() -> None:
        pool.get()

    await use_pool.enqueue()
    with pytest.raises(ConnectionError) as failed:
        await ojs.drain()
    assert "pool.use(value)" in failed.value.__notes__[0]


async def test_versions_of_a_job_are_run_by_the_right_function(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("two.versions", versions="1.0")
    async def first() -> str:
        return "first"

    @jobs.job("two.versions", versions="2.0")
    async def second() -> str:
        return "second"

    await ojs.client.enqueue("two.versions@1.0")
    await ojs.client.enqueue("two.versions@2.0")
    await ojs.drain()
    assert [job.result for job in ojs.all_enqueued("two.versions")] == ["first", "second"]


async def test_a_remote_job_can_be_run_by_a_function(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.remote("video.encode")
    def encode(path: str) -> dict[str, int]:
        raise NotImplementedError

    await encode.enqueue("a.mp4")
    ojs.handle(encode, lambda _ctx, path: {path: 3})
    await ojs.drain()
    assert ojs.all_enqueued(encode)[0].returned == {"a.mp4": 3}


async def test_checkpoints_and_progress_reach_the_backend(ojs: Ojs) -> None:
    jobs = Jobs()
    seen: list[object] = []

    @jobs.job("page.reader", context=True)
    async def read(ctx: JobContext) -> None:
        seen.append(ctx.last_checkpoint)
        ctx.progress(0.5)
        await ctx.checkpoint({"page": 3})
        if ctx.attempt == 1:
            raise ConnectionError

    handle = await read.enqueue()
    await ojs.drain(raise_errors=False)
    assert (await handle.progress()).fraction == 0.5
    await ojs.drain(with_scheduled=True)
    assert seen == [None, {"page": 3}]


async def test_a_synchronous_handler_that_hangs_ends_the_drain(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("hanging.thread")
    def hang() -> None:
        time.sleep(1)

    await hang.enqueue()
    begun = time.monotonic()
    with pytest.raises(DrainError, match="was still running"):
        await ojs.drain(timeout="50ms")
    assert time.monotonic() - begun < 0.9


def test_a_drain_without_await_that_hangs_ends_as_well(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("hanging.job")
    async def hang() -> None:
        await asyncio.Event().wait()

    hang.enqueue_sync()
    with pytest.raises(DrainError, match="was still running"):
        ojs.drain_sync(timeout="50ms")


async def test_handlers_enqueue_with_and_without_await_while_a_drain_runs(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("parent.async")
    async def parent() -> None:
        await send_mail.enqueue("async")
        send_mail.enqueue_sync("sync")

    @jobs.job("parent.sync")
    def parent_in_thread() -> None:
        send_mail.enqueue_sync("thread")

    await parent.enqueue()
    await parent_in_thread.enqueue()
    await ojs.drain()
    assert sorted(str(job.args[0]) for job in ojs.assert_completed(send_mail, count=3)) == [
        "async",
        "sync",
        "thread",
    ]
    parent.enqueue_sync()
    parent_in_thread.enqueue_sync()
    ojs.drain_sync()
    ojs.assert_completed(send_mail, count=6)


async def test_a_drain_of_the_outer_test_enqueues_there(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("parent.outer")
    async def parent() -> None:
        await send_mail.enqueue("a@b.c")

    await parent.enqueue()
    with Ojs.fake() as inner:
        await ojs.drain()
        inner.refute_enqueued(send_mail)
    ojs.assert_completed(send_mail)


async def test_the_hooks_of_a_worker_are_called() -> None:
    seen: list[str] = []

    class Watch:
        def work_begin(self, job: Job, _ctx: JobContext) -> None:
            seen.append(job.type)

    worker = LambdaWorker(hooks=[Watch()])
    worker.handler("plain.job")(lambda ctx: None)
    with Ojs.fake(worker=worker) as ojs:
        await ojs.client.enqueue("plain.job")
        await ojs.drain()
        await ojs.client.enqueue("plain.job")
        await ojs.drain()
    assert seen == ["plain.job", "plain.job"]


def test_a_worker_and_jobs_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="not both"):
        Ojs.fake(worker=LambdaWorker(), jobs=Jobs())
