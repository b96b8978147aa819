"""Typed jobs sent, executed, and their results awaited."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ojs_aws import (
    Client,
    JobContext,
    Jobs,
    SyncClient,
    SyncJobContext,
    chain,
    current_job,
    enqueue_many,
    enqueue_many_sync,
)
from ojs_aws.client import (
    JobCancelledError,
    JobExpiredError,
    JobFailedError,
    WaitTimeoutError,
)
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.typed_jobs.handles import JobNotSentError
from ojs_aws.typed_jobs.values import WrongValueError
from tests.simulation.world import World
from tests.unit.typed_jobs.conftest import Shop, error_of

jobs = Jobs()


@jobs.job("email.send", queue="email", retry={"max_attempts": 1}, meta={"team": "shop"})
async def send(to: str, *, urgent: bool = False) -> dict[str, bool]:
    if not to:
        raise ValueError("no address")
    return {"urgent": urgent}


@jobs.job("report.make", context=True)
async def report(ctx: JobContext, day: str) -> str:
    return f"{day} {ctx.queue} {helper()}"


@jobs.job("audit.note", context=True)
def audit(ctx: SyncJobContext, note: str) -> str:
    ctx.progress(0.5, message="half")
    ctx.heartbeat()
    ctx.checkpoint(note)
    assert ctx.last_checkpoint == note
    return f"{ctx.attempt} {helper()}"


@jobs.job("wrong.result")
async def wrong() -> int:
    return "secret"  # type: ignore[return-value]


@jobs.remote("video.encode", queue="media")
def encode(path: str, *, crf: int = 23) -> dict[str, int]:
    raise NotImplementedError


def helper() -> str:
    """Know the job without getting it."""
    return current_job().job.type


async def test_a_job_is_sent_executed_and_its_result_awaited(shop: Shop) -> None:
    handle = await send.enqueue("a@b.c", urgent=True)
    assert handle.is_enqueued
    assert (await handle.get()).queue == "email"
    await shop.work(jobs, "email")
    assert await handle.result() == {"urgent": True}


async def test_the_context_is_at_any_depth(shop: Shop) -> None:
    """A synchronous function runs in a thread, and has it there."""
    first, second = await report.enqueue("today"), await audit.enqueue("x")
    await shop.work(jobs)
    assert await first.result() == "today default report.make"
    assert await second.result() == "1 audit.note"


def test_outside_of_a_job_there_is_no_current_one() -> None:
    with pytest.raises(LookupError, match="outside of a job"):
        current_job()


# ---------------------------------------------------------------------------------- results
async def test_a_job_that_fails_raises_why(shop: Shop) -> None:
    handle = await send.enqueue("")
    await shop.work(jobs, "email")
    with pytest.raises(JobFailedError, match="ValueError: no address"):
        await handle.result()


async def test_a_job_that_is_cancelled_or_late_raises_that(shop: Shop) -> None:
    handle = await send.enqueue("a@b.c")
    with pytest.raises(InvalidRequestError, match=r"'timeout' .*not negative"):
        await handle.result(timeout="-1s")
    with pytest.raises(WaitTimeoutError):
        await handle.result(timeout="0s")
    await handle.cancel()
    with pytest.raises(JobCancelledError):
        await handle.result(timeout=timedelta(seconds=1))


async def test_a_job_that_nobody_took_in_time_has_expired(shop: Shop) -> None:
    handle = await send.options(expires_at="+PT1S").enqueue("a@b.c")
    shop.world.clock.advance(s=2)
    with pytest.raises(JobExpiredError, match="expired before any worker executed it"):
        await handle.result()


async def test_a_job_that_a_middleware_drops_is_no_job(world: World) -> None:
    async def drop(job: Job, call_next: object) -> None: ...

    client = Client(transport=InProcessTransport(world.backend), middleware=[drop])
    with client.use():
        handle = await send.enqueue("a@b.c")
    assert not handle.is_enqueued
    with pytest.raises(JobNotSentError, match="'drop' dropped it"):
        await handle.result()


async def test_a_result_of_another_type_fails_the_job(shop: Shop) -> None:
    await wrong.enqueue()
    [outcome] = await shop.work(jobs)
    error = error_of(outcome)
    assert "'result' must be an integer" in str(error["message"])
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (object(), "of type object, which is no JSON value. Return text"),
        ({"user": [object()]}, "of type dict, in which 'result.user[0]' is no JSON value"),
    ],
)
async def test_a_result_without_a_declared_type_must_be_json(
    shop: Shop, result: object, said: str
) -> None:
    untyped = Jobs()
    answer: Any = untyped.job("untyped.answer")(lambda: result)
    await answer.enqueue()
    [outcome] = await shop.work(untyped)
    message = str(error_of(outcome)["message"])
    assert said in message
    assert "declares" not in message


async def test_a_result_that_somebody_else_wrote_is_checked(shop: Shop) -> None:
    handle = await encode.enqueue("a.mp4")
    await shop.work(_remote_worker(), "media")
    with pytest.raises(WrongValueError, match="result"):
        await handle.result()


def _remote_worker() -> Jobs:
    """Be the worker in another language."""
    theirs = Jobs()

    @theirs.job("video.encode")
    async def run(path: str, options: dict[str, int] | None = None) -> list[JsonValue]:
        return [path, dict(options or {})]

    return theirs


async def test_a_handle_is_made_of_an_id(shop: Shop) -> None:
    sent = await send.enqueue("a@b.c")
    await shop.work(jobs, "email")
    assert await send.handle(sent.id).result() == {"urgent": False}


# ---------------------------------------------------------------------------------- options
@pytest.mark.parametrize("name", ["delay", "apply_async", "send"])
def test_a_method_of_another_library_names_ours(name: str) -> None:
    with pytest.raises(AttributeError, match=r"no attribute '\w+'. Send it by enqueue\(...\)"):
        getattr(send, name)
    with pytest.raises(AttributeError, match=r"no attribute 'enqeue'$"):
        getattr(send, "enqeue")  # noqa: B009 - misspelt on purpose
    assert not hasattr(send, "__len__")


async def test_options_make_another_sender(shop: Shop) -> None:
    """The first one stays as it is."""
    later = send.options(delay="10m", priority=5).options(tags=["a"])
    job = await (await later.enqueue("a@b.c")).get()
    assert (job.state, job.priority, job.tags, job.queue) == ("scheduled", 5, ["a"], "email")
    assert "priority" not in send.call("a@b.c").to_job()


def test_a_delay_is_a_duration() -> None:
    assert send.options(delay="10m").call("x").to_job().scheduled_at == "+PT10M"
    assert send.options(delay=timedelta(days=1)).call("x").to_job().scheduled_at == "+PT24H"
    at = datetime(2030, 1, 1, tzinfo=UTC)
    moved = send.options(delay="10m").options(scheduled_at=at)
    assert moved.call("x").to_job().scheduled_at == "2030-01-01T00:00:00.000Z"
    with pytest.raises(InvalidRequestError, match='needs a unit: "10s" or "10m"'):
        send.options(delay=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="delay"):
        send.options(delay="soon")
    with pytest.raises(TypeError, match="not both"):
        send.options(delay="1m", scheduled_at=at)


def test_either_form_of_a_timeout_replaces_the_other() -> None:
    """What a call says counts, however the declaration says it."""
    seconds = send.options(timeout_s=60, result_ttl_s=60)
    later = seconds.options(timeout="5m", result_ttl=timedelta(days=1)).call("x").to_job()
    assert (later["timeout"], later["result_ttl"]) == (300, 86_400)
    assert send.options(timeout="5m").options(timeout_s=60).call("x").to_job()["timeout"] == 60


def test_what_a_job_changes_in_its_options_is_its_own() -> None:
    first, second = send.call("x").to_job(), send.call("x").to_job()
    first.meta["team"] = "other"
    assert second.meta == {"team": "shop"}


# ------------------------------------------------------------------------------ many, and sync
async def test_many_calls_are_one_batch(shop: Shop) -> None:
    handles = await enqueue_many(send.call(f"{n}@b.c") for n in range(3))
    assert len({handle.id for handle in handles}) == 3
    await shop.work(jobs, "email")
    assert [await handle.result() for handle in handles] == [{"urgent": False}] * 3
    assert await enqueue_many([]) == []
    with pytest.raises(TypeError, match=r"Item 0 must be a call such as send.call"):
        await enqueue_many([send])  # type: ignore[arg-type]


def test_jobs_of_different_clients_are_sent_apart(shop: Shop) -> None:
    other = Jobs()

    @other.job("a.b")
    async def run() -> None: ...

    other.configure(lambda: shop.client)
    with pytest.raises(ValueError, match="send them apart"):
        enqueue_many_sync([run.call(), report.call("x")])


def test_synchronous_code_sends_without_await(world: World) -> None:
    client = SyncClient(client=Client(transport=InProcessTransport(world.backend), middleware=[]))
    with client, client.use():
        handle = send.enqueue_sync("a@b.c")
        assert handle.get().state == "available"
        [many] = enqueue_many_sync([send.call("c@d.e")])
        many.cancel()
        with pytest.raises(JobCancelledError):
            many.result()
        with pytest.raises(WaitTimeoutError):
            handle.result(timeout="0s")


async def test_a_result_is_not_waited_for_where_an_event_loop_runs(world: World) -> None:
    """The loop may be the very one that runs the job; a thread may wait."""
    client = SyncClient(client=Client(transport=InProcessTransport(world.backend), middleware=[]))
    with client, client.use():
        with pytest.warns(RuntimeWarning, match="inside an event loop"):
            handle = send.enqueue_sync("a@b.c")
        with pytest.warns(RuntimeWarning, match="inside an event loop"):
            flow = chain(send.call("a@b.c")).enqueue_sync()
        for each in (handle, flow):
            with pytest.raises(RuntimeError, match=r"would block .* `await handle.result\(\)`"):
                each.result()
        assert handle.cancel().state == "cancelled"
        with pytest.raises(JobCancelledError):
            await asyncio.to_thread(handle.result)


async def test_a_client_takes_calls_where_it_takes_jobs(shop: Shop) -> None:
    call = send.call("a@b.c")
    first, second = await shop.client.enqueue(call), await shop.client.enqueue(call)
    assert first.id != second.id
    [third] = await shop.client.enqueue_many([call])
    assert third.job.args == ["a@b.c"]
    items = await shop.client.transact_item(call)
    assert (items.job.type, bool(items.items)) == ("email.send", True)
    cron = await shop.client.cron.register("mail", "@daily", call)
    assert cron.type == "email.send"
    with pytest.raises(TypeError, match="belong to the Job"):
        await shop.client.enqueue(call, ["x"])
