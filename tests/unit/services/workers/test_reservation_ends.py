"""When a reservation ends that was extended: a heartbeat alone never makes it end earlier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.domain.jobs.progress import ProgressReport
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.backend import Backend
from tests.job_steps import fetched, pushed
from tests.simulation.world import World

LENGTHS = [(300, None, 300), (None, 120_000, 120), (None, None, 1800), (10, 60_000, 10)]
"""Of a job itself in seconds, of FETCH in milliseconds, and in seconds what follows from them."""


def held(
    world: World, own_s: float | None = None, asked_ms: int | None = None, worker_id: str = "w1"
) -> JobRecord:
    """Return a job that a worker has, and that may run for hours."""
    pushed(world.backend, visibility_timeout_s=own_s, timeout_s=86_400)
    [job] = fetched(world.backend, worker_id=worker_id, visibility_timeout_ms=asked_ms)
    return job


def ends_in_s(world: World, job: JobRecord) -> float:
    """Return after how many seconds another worker can have the job, and check that it can."""
    now = world.clock.now()
    current = world.store.load(job.id)
    assert current is not None
    assert current.reservation is not None
    due = current.reservation.due_at
    world.clock.advance(ms=due - now - 1)
    assert world.backend.jobs.info(job.id).state is JobState.ACTIVE
    world.clock.advance(ms=1)
    assert world.backend.jobs.info(job.id).state is JobState.AVAILABLE
    return (due - now) / 1000


@pytest.mark.parametrize("worker_id", ["w1", None])
@pytest.mark.parametrize(("own_s", "asked_ms", "expected_s"), LENGTHS)
def test_wrk_014_one_heartbeat_extends_by_the_length_of_the_reservation(
    world: World, own_s: int | None, asked_ms: int | None, expected_s: int, worker_id: str | None
) -> None:
    """The job's own, else the one that it was fetched with (worker protocol, 4.4 and 5.4)."""
    job = held(world, own_s, asked_ms, worker_id or "")
    world.clock.advance(s=5)
    assert world.backend.workers.heartbeat(worker_id, [job.id]).extended == (job.id,)
    assert ends_in_s(world, job) == expected_s


@pytest.mark.parametrize("after_s", [1, 20, 44, 46, 119])
def test_a_first_heartbeat_extends_wherever_its_row_is(world: World, after_s: int) -> None:
    """Before and after the instant at which FETCH listed the job."""
    job = held(world, 120)
    world.clock.advance(s=after_s)
    fetched(world.backend, worker_id="w2")
    world.backend.workers.heartbeat("w1", [job.id])
    assert ends_in_s(world, job) == 120


@pytest.mark.parametrize("asked_ms", [10_000, 60_000])
def test_one_heartbeat_that_asks_for_less_leaves_the_end(world: World, asked_ms: int) -> None:
    """Half an hour is left of the reservation, and it asks for seconds."""
    job = held(world)
    world.clock.advance(s=5)
    world.backend.workers.heartbeat("w1", [job.id], asked_ms)
    assert ends_in_s(world, job) == 1_795


@pytest.mark.parametrize("promise", [None, 5_000])
def test_a_measured_or_promised_pace_ends_a_reservation_earlier(
    world: World, promise: int | None
) -> None:
    """WRK-008: the second heartbeat gives a pace, a promise gives one at once."""
    job = held(world)
    report = WorkerReport(interval_ms=promise)
    for _ in range(1 if promise else 2):
        world.clock.advance(s=5)
        world.backend.workers.heartbeat("w1", [job.id], None, report)
    assert ends_in_s(world, job) == (15 if promise else 45)


def test_a_worker_that_beat_before_it_had_jobs_has_a_pace(world: World) -> None:
    """Its heartbeats without jobs were measured, too."""
    world.backend.workers.heartbeat("w1", [])
    world.clock.advance(s=60)
    world.backend.workers.heartbeat("w1", [])
    job = held(world)
    world.clock.advance(s=20)
    world.backend.workers.heartbeat("w1", [job.id])
    assert ends_in_s(world, job) == 60


def test_a_first_heartbeat_keeps_a_worker_alive_that_promised_with_fetch(world: World) -> None:
    """Its heartbeats do not repeat the interval."""
    pushed(world.backend)
    [job] = fetched(world.backend, worker_id="w1", heartbeat_interval_ms=20_000)
    world.clock.advance(s=19)
    world.backend.workers.heartbeat("w1", [job.id])
    assert ends_in_s(world, job) == 57


@pytest.mark.parametrize("worker_id", ["w1", None])
def test_each_heartbeat_extends_by_the_length_that_fetch_named(
    world: World, worker_id: str | None
) -> None:
    """Thirty seconds with FETCH and none with the heartbeats, as the client for JavaScript does."""
    job = held(world, None, 30_000, worker_id or "")
    for _ in range(12):
        world.clock.advance(s=20)
        assert world.backend.workers.heartbeat(worker_id, [job.id]).extended == (job.id,)
    assert ends_in_s(world, job) == 30


@pytest.mark.parametrize("worker_id", ["w1", None])
def test_a_process_that_never_fetched_extends_by_the_length_of_the_queue(
    world: World, worker_id: str | None
) -> None:
    """The one that fetched has read it in the queue's settings, and stored it with the job."""
    world.backend.queues.config.change("default", {"visibility_timeout": 20})
    job = held(world, worker_id=worker_id or "")
    assert job.reservation is not None
    assert job.reservation.due_at == world.clock.now() + 20_000
    world.clock.advance(s=15)
    Backend(world.settings, world.backend.stores).workers.heartbeat(worker_id, [job.id])
    assert ends_in_s(world, job) == 20


@pytest.mark.parametrize(("own_s", "asked_ms", "expected_s"), LENGTHS)
def test_progress_extends_by_the_length_of_the_reservation(
    world: World, own_s: int | None, asked_ms: int | None, expected_s: int
) -> None:
    """PRG-008: it is a heartbeat as well."""
    job = held(world, own_s, asked_ms)
    world.clock.advance(s=5)
    world.backend.outcomes.progress(job.id, "w1", ProgressReport(fraction=0.5))
    assert ends_in_s(world, job) == expected_s


@pytest.mark.parametrize(("own_s", "asked_ms", "expected_s"), LENGTHS)
def test_a_lambda_worker_extends_by_the_length_of_the_reservation(
    world: World, own_s: int | None, asked_ms: int | None, expected_s: int
) -> None:
    """By what is left of its invocation, which is what it claimed the job for."""
    pushed(world.backend, visibility_timeout_s=own_s, timeout_s=86_400)
    received = world.messages.receive("default", 1, 30)
    [claimed] = world.backend.jobs.fetch.claim_messages("default", received, "w1", asked_ms)
    job = claimed.record
    assert job is not None
    world.clock.advance(s=5)
    world.backend.workers.heartbeat.extend("w1", job.id, None, which=attempt_of(job), start=job)
    assert ends_in_s(world, job) == expected_s


@given(
    st.sampled_from(LENGTHS),
    st.lists(
        st.tuples(
            st.integers(0, 400_000),
            st.sampled_from([None, 1_000, 45_000, 600_000]),
            st.sampled_from(["w1", None]),
        ),
        max_size=6,
    ),
)
def test_no_heartbeat_without_a_pace_ends_a_reservation_earlier(
    length: tuple[int | None, int | None, int], beats: list[tuple[int, int | None, str | None]]
) -> None:
    """Whatever they ask for, in whatever order; each worker beats with its name at most once."""
    world = World()
    job = held(world, *length[:2])
    is_named = False
    for wait_ms, asked_ms, worker_id in beats:
        before = world.stored.jobs[job.id].reservation
        assert before is not None
        world.clock.advance(ms=min(wait_ms, before.due_at - world.clock.now() - 1))
        name = None if is_named else worker_id
        is_named |= name is not None
        assert world.backend.workers.heartbeat(name, [job.id], asked_ms).extended == (job.id,)
        after = world.stored.jobs[job.id].reservation
        assert after is not None
        assert after.due_at >= before.due_at
        assert after.due_at >= world.clock.now() + (asked_ms or length[2] * 1000)
