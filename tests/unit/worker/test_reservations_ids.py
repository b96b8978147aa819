"""A worker's reports name the claim they are about, also when it claims a job again."""

from __future__ import annotations

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.json_text import RawJson
from ojs_aws.middleware.context import JobContext
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.worker.directly import DirectReservations
from ojs_aws.worker.reservations import HeartbeatReply
from tests.simulation.world import World
from tests.unit.worker.doubles import job, settle
from tests.unit.worker.test_polling import Bench


async def test_reports_carry_the_id_that_fetch_gave() -> None:
    """Outcome, heartbeat, progress and checkpoint."""
    bench, given = Bench(), job(1, reservation_id="r1")
    bench.source.ready = [given]

    @bench.worker.handler("says.more")
    async def handle(ctx: JobContext) -> None:
        await ctx.heartbeat()
        await ctx.checkpoint(1)
        ctx.progress(0.5)

    more = job(2, "says.more", reservation_id="r2")
    bench.source.ready.append(more)
    async with bench.running():
        await settle()
        assert {more.id: "r2"} in bench.source.beaten
        assert bench.source.named[more.id] == "r2"
        await bench.timer.advance(15)
        assert bench.source.beaten[-1] == {given.id: "r1"}
        bench.release(given)
        await settle()
    assert bench.source.named == {given.id: "r1", more.id: "r2"}


async def test_a_job_that_was_claimed_again_is_not_lost_with_its_claim_before() -> None:
    """The answer to a heartbeat is about the claims that the heartbeat named."""
    bench = Bench(concurrency=2)
    first, second = job(1, reservation_id="r1"), job(1, reservation_id="r2")
    bench.source.ready = [first]
    beaten = bench.source.heartbeat

    async def overtaken(*args: object, **given: object) -> HeartbeatReply:
        await beaten(*args, **given)  # type: ignore[arg-type]
        if bench.source.beaten[-1] == {first.id: "r1"}:
            bench.source.ready = [second]
            await bench.timer.sleep(5)  # meanwhile the job is fetched again
            return HeartbeatReply(lost=frozenset([first.id]))
        return HeartbeatReply()

    bench.source.heartbeat = overtaken  # type: ignore[method-assign]
    async with bench.running():
        await bench.timer.advance(30)
        assert len(bench.contexts) == 2
        bench.release(second)
        await settle()
        assert bench.source.acked == {second.id: '"done"'}


async def test_a_worker_inside_aws_reports_on_its_own_claim_alone() -> None:
    """Of the same worker id, the reports on attempt 1 change nothing of attempt 2."""
    world = World()
    world.backend.jobs.push(Job("a.b", [], retry={"max_attempts": 2}))
    (first,) = world.backend.jobs.fetch(FetchRequest(("default",), 1, "w", 1000))
    world.clock.advance(s=1)
    (second,) = world.backend.jobs.fetch(FetchRequest(("default",), 1, "w", 1000))
    late = DirectReservations(world.backend, "w", claimed=first)
    with pytest.raises(ConflictError):
        await late.fail(first.id, {"type": "Broken", "message": "x"})
    with pytest.raises(ConflictError):
        await late.ack(first.id, None)
    with pytest.raises(ConflictError):
        await late.checkpoint(first.id, RawJson("1"))
    assert not await late.progress(first.id, {"progress": 0.5})
    assert (await late.heartbeat([first.id], "running")).lost == {first.id}
    assert world.stored.jobs[first.id] == second
