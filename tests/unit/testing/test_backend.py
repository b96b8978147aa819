"""Limits, cron jobs, pauses, dead letters and events in a test are those of the real backend."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ojs_aws import JobContext, Jobs, RateLimit, RetryPolicy
from ojs_aws.config import Settings
from ojs_aws.errors import InvalidRequestError, OjsError, PayloadTooLargeError
from ojs_aws.testing import DrainError, Ojs
from tests.unit.testing.orders import break_down, build_report, send_mail


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.fake() as ojs:
        yield ojs


# ------------------------------------------------------------------------------------- cron
async def test_a_cron_job_fires_each_time_that_the_clock_passes(ojs: Ojs) -> None:
    ojs.freeze_time("2026-02-13T10:30:00Z")
    await ojs.client.cron.register("hourly", "0 * * * *", build_report.call("now"))
    ojs.advance_time("29m")
    ojs.refute_enqueued(build_report)
    ojs.advance_time("1m")
    ojs.assert_enqueued(build_report, count=1)
    await ojs.drain()
    ojs.advance_time("3h")
    await ojs.drain()
    ojs.assert_enqueued(build_report, count=4)


# ----------------------------------------------------------------------------------- limits
async def test_a_paused_queue_is_not_drained(ojs: Ojs) -> None:
    await ojs.client.queues.pause("mail")
    await send_mail.enqueue("a@b.c")
    assert len(await ojs.drain(with_scheduled=True)) == 0
    await ojs.client.queues.resume("mail")
    assert len(await ojs.drain()) == 1


async def test_a_rate_limit_lets_jobs_wait_for_their_time(ojs: Ojs) -> None:
    limit = RateLimit(key="reports", rate=(2, "1m"))
    for number in range(3):
        await build_report.options(rate_limit=limit).enqueue(str(number))
    assert len(await ojs.drain()) == 2
    ojs.advance_time("1m")
    assert len(await ojs.drain()) == 1


# ------------------------------------------------------------------------- failures and ends
async def test_a_dead_letter_can_be_looked_at_and_retried(ojs: Ojs) -> None:
    policy = RetryPolicy(max_attempts=1, on_exhaustion="dead_letter")
    await break_down.options(retry=policy).enqueue(7)
    await ojs.drain(raise_errors=False)
    page = await ojs.client.dead_letter.list()
    assert [job.args for job in page.jobs] == [[7]]
    await ojs.client.dead_letter.retry(page.jobs[0].id)
    [job] = ojs.all_enqueued()
    assert job.state == "available"


async def test_a_job_learns_that_it_was_cancelled_while_it_ran(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("cancelled.job", context=True)
    async def run(ctx: JobContext) -> str:
        await ojs.client.cancel(ctx.job.id)
        await ctx.heartbeat()
        return "cancelled" if ctx.is_cancelled else "went on"

    handle = await run.enqueue()
    report = await ojs.drain()
    assert [each.outcome for each in report.executions] == ["cancelled"]
    ojs.assert_job_state(handle.id, "cancelled")


async def test_a_job_whose_time_is_over_fails_as_in_production(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("slow.job", timeout_s=1, retry=RetryPolicy(max_attempts=1))
    async def run() -> None:
        await asyncio.sleep(5)

    await run.enqueue()
    await ojs.drain(raise_errors=False)
    [job] = ojs.assert_failed(run, state="discarded")
    assert (job.error or {})["type"] == "timeout"


async def test_a_result_that_is_no_json_fails_the_job(ojs: Ojs) -> None:
    jobs = Jobs()

    @jobs.job("object.job")
    async def run():  # type: ignore[no-untyped-def]  # noqa: ANN202
        return object()

    await run.enqueue()
    report = await ojs.drain(raise_errors=False)
    assert "no JSON value" in str(report.failures[0].error)


async def test_a_result_that_is_too_large_fails_the_drain() -> None:
    jobs = Jobs()

    @jobs.job("large.job")
    async def run() -> str:
        return "x" * 3000

    with Ojs.fake(settings=Settings(max_result_bytes=2000)) as ojs:
        await run.enqueue()
        with pytest.raises(DrainError, match="The result was refused"):
            await ojs.drain()


async def test_what_is_too_large_is_refused(ojs: Ojs) -> None:
    with Ojs.fake(settings=Settings(max_envelope_bytes=2000)) as small:
        with pytest.raises(PayloadTooLargeError):
            await small.client.enqueue("any.type", ["x" * 3000])
        assert small.all_enqueued() == []
    await ojs.client.enqueue("any.type", ["x" * 3000])


async def test_a_bounded_queue_refuses_what_is_too_much(ojs: Ojs) -> None:
    await ojs.client.queues.create("small", {"max_size": 2})
    for number in range(2):
        await ojs.client.enqueue("orders.report", [str(number)], queue="small")
    with pytest.raises(OjsError):
        await ojs.client.enqueue("orders.report", ["x"], queue="small")
    await ojs.drain()
    await ojs.client.enqueue("orders.report", ["y"], queue="small")


async def test_a_schema_refuses_wrong_arguments(ojs: Ojs) -> None:
    await ojs.client.schemas.register(send_mail.type, 1, send_mail.schema())
    with pytest.raises(InvalidRequestError):
        await ojs.client.enqueue(
            "orders.mail", [1], meta={"ojs_validate": True}, schema="urn:ojs:schema:orders.mail:1"
        )


# ----------------------------------------------------------------------------------- events
async def test_events_follow_the_life_of_a_job(ojs: Ojs) -> None:
    handle = await send_mail.enqueue("a@b.c")
    ojs.fail_next(send_mail, TimeoutError("SMTP"))
    await ojs.drain(with_scheduled=True)
    types = [event.type for event in ojs.all_events() if event.subject == handle.id]
    assert types[0] == "job.enqueued"
    assert types[-1] == "job.completed"
    assert "job.retrying" in types
    assert len(ojs.all_events("job.completed")) == 1


async def test_the_client_reads_the_same_events_and_statistics(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    await ojs.drain()
    stats = await ojs.client.queues.stats("mail")
    assert stats is not None


# ------------------------------------------------------------------------------------- time
async def test_a_clock_that_was_stopped_stays_there(ojs: Ojs) -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    ojs.freeze_time(moment)
    await send_mail.options(scheduled_at=moment + timedelta(hours=1)).enqueue("a@b.c")
    assert ojs.now == moment
    with pytest.raises(ValueError, match="The clock cannot go back from 2030"):
        ojs.freeze_time("2026-01-01T00:00:00Z")


async def test_a_clock_does_not_go_back_behind_a_cron_job(ojs: Ojs) -> None:
    """Its next run is known, even if no job was enqueued yet."""
    ojs.freeze_time("2030-01-01T00:30:00Z")
    await ojs.client.cron.register("hourly", "0 * * * *", build_report.call("now"))
    with pytest.raises(ValueError, match="The clock cannot go back from 2030"):
        ojs.freeze_time("2026-01-01T00:00:00Z")


async def test_a_clock_without_jobs_can_begin_in_the_past(ojs: Ojs) -> None:
    await send_mail.enqueue("a@b.c")
    await ojs.drain()
    ojs.clear_all()
    ojs.freeze_time("2020-01-01T00:00:00Z")
    await send_mail.enqueue("a@b.c")
    await ojs.drain()
    [job] = ojs.assert_completed(send_mail)
    assert str(job["completed_at"]).startswith("2020-01-01T00:00:00")


def test_a_wrong_duration_or_error_is_refused(ojs: Ojs) -> None:
    with pytest.raises(InvalidRequestError, match="unit"):
        ojs.advance_time(60)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Give an exception"):
        ojs.fail_next(send_mail, "SMTP")  # type: ignore[arg-type]
