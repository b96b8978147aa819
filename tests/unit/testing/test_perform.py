"""perform() runs one handler in the real chain, and says all that it did."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from ojs_aws import Job, JobContext, Jobs, SyncJobContext
from ojs_aws.testing import Ojs
from ojs_aws.worker import RetryError
from tests.unit.testing.orders import break_down, build_report, send_mail, wait_for_ever

jobs = Jobs()


@dataclass
class Summary:
    """A result with a type."""

    pages: int


@jobs.job("perform.pages", context=True)
async def read_pages(ctx: JobContext, until: int) -> Summary:
    """Go on from a checkpoint."""
    begin = ctx.last_checkpoint["page"] if ctx.has_checkpoint else 0  # type: ignore[index,call-overload]
    assert isinstance(begin, int)
    for page in range(begin + 1, until + 1):
        ctx.log("info", f"page {page}", size=page)
        ctx.progress(page / until, message=f"page {page}")
        await ctx.checkpoint({"page": page})
        await ctx.heartbeat()
    await send_mail.enqueue("done@b.c", ctx.attempt)
    return Summary(until)


@jobs.job("perform.sync", context=True)
def read_in_thread(ctx: SyncJobContext, name: str) -> str:
    """Do the same in a thread."""
    ctx.progress(0.5)
    ctx.checkpoint([name])
    ctx.heartbeat()
    logging.getLogger("shop").warning("in a thread")
    send_mail.enqueue_sync(name)
    return f"{name} {ctx.attempt} {ctx.job.meta['tenant']}"


@jobs.job("perform.later")
async def come_later() -> None:
    """Name the delay of the retry."""
    raise RetryError("busy", delay="10m")


@pytest.fixture
def ojs() -> Iterator[Ojs]:
    with Ojs.fake() as ojs:
        yield ojs


async def test_the_result_has_the_type_of_the_function(ojs: Ojs) -> None:
    done = await ojs.perform(read_pages.call(2))
    assert done.outcome == "completed"
    assert done.result == Summary(2)
    assert done.error is None


async def test_reports_checkpoints_logs_and_jobs_are_kept(ojs: Ojs) -> None:
    done = await ojs.perform(read_pages.call(5), attempt=2, checkpoint={"page": 3})
    assert [each.fraction for each in done.progress] == [0.8, 1.0]
    assert done.progress[0].message == "page 4"
    assert done.checkpoints == [{"page": 4}, {"page": 5}]
    assert done.messages == ["page 4", "page 5"]
    assert done.logs[0].__dict__["size"] == 4
    assert done.logs[0].__dict__["job_type"] == "perform.pages"
    assert done.beats == 2
    assert [job.args for job in done.enqueued] == [["done@b.c", 2]]
    assert (done.job.attempt, done.job.max_attempts) == (2, 3)


async def test_nothing_is_stored_of_the_job_itself(ojs: Ojs) -> None:
    await ojs.perform(build_report.call("monday"))
    assert ojs.all_enqueued() == []
    ojs.refute_performed(build_report)


def test_a_synchronous_handler_runs_without_an_event_loop(ojs: Ojs) -> None:
    done = ojs.perform_sync(read_in_thread.call("x"), attempt=3, meta={"tenant": 7})
    assert done.result == "x 3 7"
    assert done.checkpoints == [["x"]]
    assert done.messages == ["in a thread"]
    assert [job.args for job in done.enqueued] == [["x"]]


async def test_an_error_is_kept_and_the_result_raises_it(ojs: Ojs) -> None:
    done = await ojs.perform(break_down.call(7))
    assert done.outcome == "failed"
    assert isinstance(done.error, ValueError)
    assert done.failure["type"] == "ValueError"
    with pytest.raises(AssertionError, match="it failed: ValueError: number 7") as failed:
        _ = done.result
    assert failed.value.__cause__ is done.error


async def test_delays_of_snoozes_and_retries_are_kept(ojs: Ojs) -> None:
    snoozed = await ojs.perform(wait_for_ever.call())
    assert (snoozed.outcome, snoozed.delay) == ("snoozed", timedelta(seconds=1))
    with pytest.raises(AssertionError, match="it was snoozed"):
        _ = snoozed.result
    later = await ojs.perform(come_later.call())
    assert (later.outcome, later.delay) == ("failed", timedelta(minutes=10))


async def test_the_middleware_of_the_job_runs_around_it(ojs: Ojs) -> None:
    local = Jobs()

    @local.job("perform.slow", timeout_s=1)
    async def slow() -> None:
        await asyncio.sleep(10)

    with pytest.raises(AssertionError, match="was not done after"):
        await ojs.perform(slow.call(), timeout="50ms")
    done = await ojs.perform(slow.call(), attributes={"timeout_ms": 20})
    assert done.failure["type"] == "timeout"


async def test_a_job_without_types_can_be_performed(ojs: Ojs) -> None:
    done = await ojs.perform(Job("orders.report", ["monday"]))
    assert done.result == {"monday": 1}


async def test_resources_are_opened_for_it(ojs: Ojs) -> None:
    local, log = Jobs(), []

    @local.resource
    async def pool() -> AsyncIterator[str]:
        log.append("open")
        yield "value"
        log.append("close")

    @local.job("perform.pool")
    async def use_pool() -> str:
        return pool.get()

    assert (await ojs.perform(use_pool.call())).result == "value"
    assert log == ["open", "close"]


async def test_a_job_can_be_made_to_fail(ojs: Ojs) -> None:
    ojs.fail_next(send_mail, TimeoutError("SMTP"))
    assert isinstance((await ojs.perform(send_mail.call("a"))).error, TimeoutError)
    assert (await ojs.perform(send_mail.call("a"))).error is None


async def test_an_unknown_option_is_refused(ojs: Ojs) -> None:
    with pytest.raises(TypeError, match="no option 'attemp'"):
        await ojs.perform(send_mail.call("a"), attemp=2)  # type: ignore[call-overload]


@pytest.mark.parametrize("more", [("a@b.c",), ()])
async def test_perform_says_how_to_write_a_call(ojs: Ojs, more: tuple[str, ...]) -> None:
    """For a typed job in place of a call of it."""
    for job in (send_mail, send_mail("a@b.c")):
        with pytest.raises(TypeError, match=r"perform\(send_mail.call\(...\)\)"):
            await ojs.perform(job, *more)  # type: ignore[call-overload]


async def test_perform_lists_its_options(ojs: Ojs) -> None:
    with pytest.raises(
        TypeError, match=r"no option 'atempt'. Did you mean 'attempt'\?.*checkpoint"
    ):
        await ojs.perform(send_mail.call("a@b.c"), atempt=2)  # type: ignore[call-overload]
