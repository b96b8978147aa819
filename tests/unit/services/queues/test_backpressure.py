"""Bounded queues, over the model: never more jobs than the bound, and no place is lost for good."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, BackendUnavailableError, QueueFullError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues import Depth
from ojs_aws.services.events import Commit, events_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.jobs.render import PushResult
from tests.simulation.world import World


@pytest.fixture
def world() -> World:
    """A backend with a queue of two."""
    made = World()
    made.backend.queues.config.change("small", {"max_size": 2})
    return made


def push(world: World, **attributes: Any) -> PushResult:
    """Push a job to it."""
    return world.backend.jobs.push(Job("demo.echo", [], **{"queue": "small", **attributes}))


def depth(world: World) -> int:
    """What is counted."""
    return world.stored.depths["small"].jobs


def publish(world: World, before: JobRecord | None, job_id: str) -> None:
    """Let the stream report a job's change."""
    world.backend.queues.backpressure.follow([(before, world.stored.jobs.get(job_id))])


def test_bp_001_a_full_queue_rejects_and_stores_nothing(world: World) -> None:
    """BP-001 and BP-002; jobs that wait or run count as well as those that are ready."""
    push(world, scheduled_at="+PT1H")
    push(world)
    world.backend.jobs.fetch(FetchRequest(("small",)))
    with pytest.raises(QueueFullError) as refused:
        push(world)
    error = refused.value.as_dict()
    assert (error["code"], refused.value.status) == ("QUEUE_FULL", 429)
    assert (error["queue"], error["depth"], error["bound"], error["strategy"]) == (
        "small",
        2,
        2,
        "reject",
    )
    assert len(world.stored.jobs) == 2


def test_a_job_that_ended_leaves_its_place(world: World) -> None:
    """As soon as the stream reports it; a retry keeps it."""
    jobs = [push(world).record for _ in range(2)]
    assert jobs[0] is not None
    before = world.stored.jobs[jobs[0].id]
    world.backend.jobs.cancel(jobs[0].id)
    publish(world, before, jobs[0].id)
    assert depth(world) == 1
    push(world)


def test_a_job_that_push_counted_is_not_counted_again(world: World) -> None:
    """But one that came another way is: a workflow's step, an operator's retry."""
    job = push(world).record
    assert job is not None
    publish(world, None, job.id)
    assert depth(world) == 1
    world.backend.jobs.cancel(job.id)
    publish(world, job, job.id)
    assert depth(world) == 0
    stranger = Job("demo.echo", [], queue="small")
    record = world.backend.jobs.transact(stranger).pushed.record
    assert record is not None
    world.backend.queues.backpressure.follow([(None, record)])
    assert depth(world) == 1


def test_a_batch_gets_all_its_places_or_none(world: World) -> None:
    """ojs-backpressure, section 9.3; the places of other queues in it are given back."""
    world.backend.queues.config.change("also", {"max_size": 5})
    batch = [Job("demo.echo", [], queue=queue) for queue in ("also", "small", "small", "small")]
    with pytest.raises(QueueFullError):
        world.backend.jobs.push.all(batch)
    assert world.stored.jobs == {}
    assert {name: each.jobs for name, each in world.stored.depths.items()} == {
        "small": 0,
        "also": 0,
    }
    world.backend.jobs.push.all(batch[:3])
    assert depth(world) == 2


def test_what_was_not_stored_gives_its_place_back(world: World) -> None:
    """A repeated push, a duplicate, and a write that surely failed."""
    job_id = "01961234-5678-7abc-8def-0123456789ab"
    first = push(world, id=job_id)
    again = push(world, id=job_id)
    assert (first.is_new, again.is_new) == (True, False)
    assert depth(world) == 1

    def refuse(_: object) -> None:
        raise BackendUnavailableError("throttled")

    world.store.insert = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(BackendUnavailableError):
        push(world)
    assert depth(world) == 1


def test_a_write_of_which_nobody_knows_keeps_its_place(world: World) -> None:
    """They are held until the tick has recounted, once nothing moves."""

    def lose(_: object) -> None:
        raise BackendError("the answer was lost")

    insert, world.store.insert = world.store.insert, lose  # type: ignore[method-assign,assignment]
    for _ in range(2):
        with pytest.raises(BackendError):
            push(world)
    world.store.insert = insert  # type: ignore[method-assign]
    with pytest.raises(QueueFullError):
        push(world)
    settings = world.queue_settings.all()
    assert world.backend.queues.depth_recount.tick(settings) == {}
    world.clock.advance(s=60)
    assert world.backend.queues.depth_recount.tick(settings) == {"small": 2}
    push(world)


def test_a_queue_that_is_busy_is_not_recounted(world: World) -> None:
    """What is on its way would be counted twice."""
    settings = world.queue_settings.all()
    world.backend.queues.depth_recount.tick(settings)
    job = push(world).record
    assert job is not None
    world.depths.add("small", 7)
    assert world.backend.queues.depth_recount.tick(settings) == {}
    assert depth(world) == 8


def test_a_tick_that_comes_twice_recounts_nothing(world: World) -> None:
    """A push whose job is not there yet would lose its place."""
    settings = world.queue_settings.all()
    world.depths.take("small", 1, 2)
    for _ in range(3):
        assert world.backend.queues.depth_recount.tick(settings) == {}
        world.clock.advance(s=1)
    assert depth(world) == 1


@pytest.mark.parametrize("jobs", [1, 2, 101])
@pytest.mark.parametrize("unique", [False, True])
def test_a_push_that_is_repeated_finds_its_jobs_in_a_queue_that_is_full(
    world: World, jobs: int, *, unique: bool
) -> None:
    """Found by the simulation: it was answered that nothing was stored, and its jobs were there."""
    world.backend.queues.config.change("small", {"max_size": jobs})
    world.clock.advance(s=5)
    more: dict[str, Any] = {"unique": {"keys": ["args"]}} if unique else {}
    texts = [
        Job("demo.echo", [at], queue="small", id=f"01990000-0000-7000-9000-{at:012x}", **more)
        for at in range(jobs)
    ]
    for _ in range(2):
        sent = [Job.from_json(job.to_json()) for job in texts]
        stored = (
            world.backend.jobs.push.all(sent) if jobs > 1 else [world.backend.jobs.push(sent[0])]
        )
        assert [each.record.id for each in stored if each.record] == [job.id for job in texts]
    assert depth(world) == jobs
    assert len(world.stored.jobs) == jobs
    with pytest.raises(QueueFullError):
        push(world)


def test_a_bound_counts_the_jobs_that_are_there(world: World) -> None:
    """And lets none in while there are too many; without a bound nothing is counted."""
    for _ in range(3):
        push(world, queue="late")
    world.backend.queues.config.change("late", {"max_size": 3})
    world.clock.advance(s=5)
    with pytest.raises(QueueFullError):
        push(world, queue="late")
    world.backend.queues.config.change("late", {"max_size": 0})
    world.clock.advance(s=5)
    push(world, queue="late")
    assert "late" not in world.stored.depths


def test_bp_r004_producers_are_warned_above_the_threshold(world: World) -> None:
    """With how full it is; crossing it is reported once, and falling below it again too."""
    world.backend.queues.config.change("warned", {"max_size": 4, "warning_threshold": 0.5})
    fills = [push(world, queue="warned").fill for _ in range(3)]
    assert [fill.is_high for fill in fills if fill] == [False, True, True]
    assert fills[2] is not None
    assert (fills[2].depth, fills[2].bound, fills[2].pressure) == (3, 4, 0.75)
    report = world.stored.pressures["warned"]
    assert (report.is_warned, report.depth, report.bound) == (True, 2, 4)
    for job in list(world.stored.jobs.values())[:2]:
        world.backend.jobs.cancel(job.id)
        publish(world, job, job.id)
    assert world.stored.pressures["warned"].is_warned is False


def test_a_queue_that_takes_its_last_job_is_full(world: World) -> None:
    """``queue.full`` (ojs-queue-config, 10.1): reported when its last place is taken."""
    push(world)
    assert "small" not in world.stored.pressures
    push(world)
    report = world.stored.pressures["small"]
    (warning, full) = events_of(None, report, Commit(world.clock.now(), "1"))
    assert (warning.type, full.type) == ("backpressure.warning", "queue.full")
    assert full.data == '{"queue":"small","depth":2,"bound":2}'


def test_bp_004_rejections_are_published_once_a_second(world: World) -> None:
    """With how many there were: a storm of them costs a write a second, not one each."""
    push(world)
    push(world)
    for _ in range(5):
        with pytest.raises(QueueFullError):
            push(world)
    assert world.stored.pressures["small"].rejected == 1
    world.clock.advance(s=1)
    with pytest.raises(QueueFullError):
        push(world)
    assert world.stored.pressures["small"].rejected == 6


def test_the_counter_may_be_wrong_and_the_queue_still_takes_jobs(world: World) -> None:
    """A record of the stream that comes twice lets one job too many in, until the recount."""
    job = push(world).record
    assert job is not None
    world.backend.jobs.cancel(job.id)
    for _ in range(2):
        publish(world, job, job.id)
    assert depth(world) == -1
    settings = world.queue_settings.all()
    world.backend.queues.depth_recount.tick(settings)
    world.clock.advance(s=60)
    assert world.backend.queues.depth_recount.tick(settings) == {"small": -1}
    assert world.stored.depths["small"] == Depth(0, world.stored.depths["small"].version)


def test_a_recount_ahead_of_the_stream_frees_a_place_twice(world: World) -> None:
    """Where the stream is minutes behind; the next recount corrects it."""
    job = push(world).record
    assert job is not None
    push(world)
    world.backend.jobs.cancel(job.id)
    settings = world.queue_settings.all()
    world.backend.queues.depth_recount.tick(settings)
    world.clock.advance(s=60)
    assert world.backend.queues.depth_recount.tick(settings) == {"small": 1}
    push(world)
    publish(world, job, job.id)
    push(world)
    live = [each for each in world.stored.jobs.values() if not each.state.is_terminal]
    assert (depth(world), len(live)) == (2, 3)
    world.backend.queues.depth_recount.tick(settings)
    world.clock.advance(s=60)
    assert world.backend.queues.depth_recount.tick(settings) == {"small": -1}
    with pytest.raises(QueueFullError):
        push(world)


def recount(world: World) -> dict[str, int]:
    """Let the tick look after the counters."""
    used = {job.queue for job in world.stored.jobs.values()}
    return world.backend.queues.depth_recount.tick(world.queue_settings.all(), lambda: used)


def test_a_bound_of_the_default_policy_counts_the_jobs_that_are_there(world: World) -> None:
    """From the next tick on, for each queue without a bound of its own."""
    for _ in range(3):
        push(world, queue="late")
    world.backend.queues.config.change("_default", {"max_size": 3})
    assert recount(world) == {}
    assert world.stored.depths["late"].jobs == 3
    world.clock.advance(s=5)
    with pytest.raises(QueueFullError):
        push(world, queue="late")


def test_a_push_before_the_first_tick_hides_no_jobs_from_a_bound(world: World) -> None:
    """However busy the queue is: it is counted once with the jobs that were there before."""
    push(world, queue="late")
    push(world, queue="late")
    world.backend.queues.config.change("_default", {"max_size": 4})
    world.clock.advance(s=5)
    push(world, queue="late")
    assert world.stored.depths["late"].jobs == 1
    assert recount(world) == {}
    assert world.stored.depths["late"].jobs == 3
    push(world, queue="late")
    assert recount(world) == {}
    assert world.stored.depths["late"].jobs == 4


def test_a_bound_that_comes_again_counts_from_what_is_there(world: World) -> None:
    """What was counted under the default policy's earlier bound is worth nothing by then."""
    world.backend.queues.config.change("_default", {"max_size": 3})
    for _ in range(3):
        push(world, queue="late")
    push(world)
    assert recount(world) == {}
    world.backend.queues.config.change("_default", {"max_size": None})
    world.clock.advance(s=5)
    for job in [each for each in world.stored.jobs.values() if each.queue == "late"][:2]:
        world.backend.jobs.cancel(job.id)
    world.backend.queues.config.change("_default", {"max_size": 3})
    world.clock.advance(s=5)
    push(world, queue="late")
    recount(world)
    assert world.stored.depths["late"].jobs == 2
    assert depth(world) == 1


@pytest.mark.parametrize("name", ["late", "_default"])
def test_a_counter_that_was_left_over_is_not_believed(world: World, name: str) -> None:
    """As by a process that died, or did not know yet, when a bound was removed."""
    push(world, queue="late")
    world.depths.begin("late", 7)
    world.backend.queues.config.change(name, {"max_size": 3})
    recount(world)
    assert world.stored.depths["late"].jobs == 1


def test_a_queue_that_gives_up_its_bound_has_that_of_the_default_policy(world: World) -> None:
    """And goes on being counted: the jobs that are there keep their places."""
    world.backend.queues.config.change("_default", {"max_size": 3})
    world.clock.advance(s=5)
    push(world)
    push(world)
    world.backend.queues.config.change("small", {"max_size": None})
    assert depth(world) == 2
