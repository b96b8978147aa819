"""Progress and checkpoints from inside handlers, of all kinds of workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError, InvalidPayloadError, JsonValue
from ojs_aws.domain.json_text import RawJson, decode
from ojs_aws.middleware.context import JobContext
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.worker.base import BaseWorker
from ojs_aws.worker.directly import DirectReservations
from ojs_aws.worker.executor import ActiveJob
from ojs_aws.worker.reservations import HeartbeatReply, ProgressReports, WorkerContext
from tests.simulation.world import World
from tests.unit.worker.doubles import FakeSource, StillTimer, job, settle


async def execute(handler: Any, source: FakeSource, made: Job | None = None) -> WorkerContext:
    """Execute one job with a handler; its context."""
    worker = BaseWorker(middleware=[])
    worker.handler("a.b")(handler)
    given = made or job()
    source.held.add(given.id)

    async def extend(_: str) -> bool:
        return True

    ctx = WorkerContext(given, extend=extend, held=source, timer=StillTimer())
    await ActiveJob(ctx).execute(worker.freeze())
    return ctx


# ----------------------------------------------------------------------------------- progress
async def test_a_chatty_handler_sends_the_first_report_and_the_last() -> None:
    """ojs-progress, section 6.2: ten thousand reports within a second are two requests."""

    async def handler(ctx: JobContext) -> None:
        for row in range(10_000):
            ctx.progress(row / 10_000, data={"row": row})
            if row == 10:
                await settle()

    source = FakeSource()
    await execute(handler, source)
    assert [said["data"] for said in source.reports] == [{"row": 10}, {"row": 9_999}]


def test_a_synchronous_handler_reports_from_its_thread() -> None:
    """Without awaiting, and in order."""

    def handler(ctx: JobContext) -> None:
        ctx.progress(0.25)
        time.sleep(0.01)
        ctx.progress(0.5, message="half")

    source = FakeSource()
    asyncio.run(execute(handler, source))
    assert source.reports[-1] == {"progress": 0.5, "message": "half"}


async def test_reports_are_a_second_apart_and_the_latest_counts() -> None:
    """A report that is not sent yet is replaced; its number never falls."""
    timer, sent = StillTimer(), list[Mapping[str, JsonValue]]()

    async def send(said: Mapping[str, JsonValue]) -> None:
        sent.append(said)

    reports = ProgressReports(send, timer)
    for number in (0.1, 0.2, 0.3, 0.25):
        reports.report({"progress": number})
        await settle()
    assert sent == [{"progress": 0.1}]
    await timer.advance(0.9)
    assert len(sent) == 1
    await timer.advance(0.2)
    assert sent == [{"progress": 0.1}, {"progress": 0.3}]
    await timer.advance(5)
    assert len(sent) == 2


async def test_a_failed_report_changes_nothing() -> None:
    """Section 4: fire and forget."""

    async def handler(ctx: JobContext) -> str:
        ctx.progress(0.5)
        await settle()
        return "done"

    source = FakeSource(problems=[BackendError("down")])
    ctx = await execute(handler, source)
    assert not ctx.is_cancelled
    assert source.reports == []


async def test_a_refused_report_shows_the_handler_that_its_job_is_lost() -> None:
    """It can stop at the next look at ``is_cancelled``."""
    seen: list[bool] = []

    async def handler(ctx: JobContext) -> None:
        source.held.clear()
        ctx.progress(0.5)
        await settle()
        seen.append(ctx.is_cancelled)

    source = FakeSource()
    await execute(handler, source)
    assert seen == [True]


@pytest.mark.parametrize("said", [{}, {"data": {"x": float("nan")}}, {"data": {"x": object()}}])
def test_a_report_that_says_nothing_or_no_json_is_the_handlers_mistake(said: Any) -> None:
    """At the call, not later."""
    with pytest.raises((TypeError, InvalidPayloadError)):
        JobContext(job()).progress(**said)


def test_outside_of_a_worker_a_report_does_nothing() -> None:
    """So handlers are tested with a plain context."""
    JobContext(job()).progress(2.0)


# -------------------------------------------------------------------------------- checkpoints
async def test_a_checkpoint_is_saved_before_the_handler_goes_on() -> None:
    """Awaited, or in a thread; and it is the last one from then on."""

    async def handler(ctx: JobContext) -> None:
        assert not ctx.has_checkpoint
        assert ctx.last_checkpoint is None
        await ctx.checkpoint({"row": 1})
        assert source.checkpoints == [RawJson('{"row":1}')]
        assert ctx.last_checkpoint == {"row": 1}

    source = FakeSource()
    await execute(handler, source)
    assert len(source.checkpoints) == 1


def test_a_synchronous_handler_saves_without_awaiting() -> None:
    """The call returns when it is saved."""
    seen = []

    def handler(ctx: JobContext) -> None:
        ctx.checkpoint([1, 2])  # type: ignore[unused-coroutine]
        seen.append(list(source.checkpoints))

    source = FakeSource()
    asyncio.run(execute(handler, source))
    assert seen == [[RawJson("[1,2]")]]


async def test_a_retry_goes_on_from_the_checkpoint() -> None:
    """ojs-durable-execution, section 6.1; a null is a checkpoint, too."""
    seen: list[object] = []

    async def handler(ctx: JobContext) -> None:
        seen.append((ctx.has_checkpoint, ctx.last_checkpoint))

    described: dict[str, JsonValue] = {"state": {"row": 7}, "sequence": 3}
    await execute(handler, FakeSource(), job(checkpoint=described, last_checkpoint={"row": 7}))
    await execute(handler, FakeSource(), job(2, checkpoint={"state": None, "sequence": 1}))
    await execute(handler, FakeSource(), job(3, last_checkpoint=5))
    assert seen == [(True, {"row": 7}), (True, None), (True, 5)]


async def test_a_checkpoint_of_a_lost_job_raises() -> None:
    """The handler must not go on as if it were saved."""
    problems: list[BaseException] = []

    async def handler(ctx: JobContext) -> None:
        source.held.clear()
        try:
            await ctx.checkpoint(1)
        except ConflictError as problem:
            problems.append(problem)
            assert ctx.is_cancelled

    source = FakeSource()
    await execute(handler, source)
    assert len(problems) == 1


async def test_a_checkpoint_that_is_no_json_is_refused_at_the_call() -> None:
    """Nothing is sent."""
    source = FakeSource()

    async def handler(ctx: JobContext) -> None:
        with pytest.raises(InvalidPayloadError):
            await ctx.checkpoint({"x": {1, 2}})  # type: ignore[dict-item]
        assert not ctx.has_checkpoint

    await execute(handler, source)
    assert source.checkpoints == []


# --------------------------------------------------------------------------- straight to the table
async def test_a_worker_inside_aws_writes_without_reading() -> None:
    """It knows the job from the claim, and from each write since."""
    world = World()
    world.backend.jobs.push(Job("a.b", [], retry={"max_attempts": 2}))
    (claimed,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    held = DirectReservations(world.backend, "w", claimed=claimed)
    world.faults.calls.clear()
    assert await held.progress(claimed.id, {"progress": 0.5, "data": {"row": 1}})
    await held.checkpoint(claimed.id, RawJson('{"row": 1}'))
    await held.fail(claimed.id, {"type": "Broken", "message": "x"})
    assert "load" not in world.faults.calls
    record = world.stored.jobs[claimed.id]
    assert record.checkpoint is not None
    assert decode(record.checkpoint.state) == {"row": 1}  # type: ignore[arg-type]
    assert record.current_progress is not None
    assert record.current_progress.fraction == 0.5
    assert not await held.progress(claimed.id, {"progress": 0.6})


async def test_a_heartbeat_inside_aws_is_one_write_and_no_read() -> None:
    """It goes on from the version before, and meets what others wrote meanwhile."""
    world = World()
    world.backend.jobs.push(Job("a.b", []))
    (claimed,) = world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    held = DirectReservations(world.backend, "w", claimed=claimed)
    world.faults.calls.clear()
    for _ in range(2):
        world.clock.advance(s=10)
        before = world.stored.jobs[claimed.id].reservation
        assert await held.heartbeat([claimed.id], "running") == HeartbeatReply("running")
        after = world.stored.jobs[claimed.id].reservation
        assert before is not None
        assert after is not None
        assert after.expires_at - before.expires_at == 10_000
    assert "load" not in world.faults.calls
    world.backend.outcomes.checkpoints.save(claimed.id, "w", RawJson("1"))
    world.clock.advance(s=10)
    assert await held.heartbeat([claimed.id], "running") == HeartbeatReply("running")
    assert world.backend.workers.service.list().workers == ()


@pytest.mark.parametrize("later_s", [0, 10], ids=["nothing to write", "something to write"])
async def test_a_heartbeat_inside_aws_says_that_a_job_was_cancelled_or_lost(later_s: int) -> None:
    """Whatever was known of it, and whether or not it would be written."""
    world = World()
    for _ in range(3):
        world.backend.jobs.push(Job("a.b", []))
    jobs = world.backend.jobs.fetch(FetchRequest(("default",), 3, "w"))
    cancelled, gone, other = jobs
    world.backend.jobs.cancel(cancelled.id)
    del world.stored.jobs[gone.id]
    world.clock.advance(s=later_s)
    replies = [
        await DirectReservations(world.backend, "w", claimed=job).heartbeat([job.id], "running")
        for job in jobs
    ]
    assert replies == [
        HeartbeatReply("running", cancelled=frozenset({cancelled.id})),
        HeartbeatReply("running", lost=frozenset({gone.id})),
        HeartbeatReply("running"),
    ]
    known = DirectReservations(world.backend, "w", claimed=world.stored.jobs[cancelled.id])
    assert (await known.heartbeat([cancelled.id], "running")).cancelled == {cancelled.id}
    foreign = DirectReservations(world.backend, "somebody")
    assert (await foreign.heartbeat([other.id], "running")).lost == {other.id}
