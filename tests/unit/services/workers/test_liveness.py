"""Workers that fell silent: their jobs come back after three missed heartbeats, by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.errors import ConflictError, InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.workers import WorkerReport
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.job_steps import fetched, pushed
from tests.simulation.world import World

ERROR = parse_object('{"type": "Broken", "message": "it broke"}')


def state(world: World, job: JobRecord) -> JobState:
    """The job's state as INFO shows it."""
    return world.backend.jobs.info(job.id).state


def beat(world: World, job: JobRecord, worker_id: str = "w1", **more: Any) -> None:
    """A heartbeat for a job."""
    report = WorkerReport(**more) if more else None
    world.backend.workers.heartbeat(worker_id, [job.id], None, report)


def test_wrk_007_wrk_008_three_missed_heartbeats_give_the_job_to_another(world: World) -> None:
    """Half an hour of reservation, a promise of five seconds: free after fifteen."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=5_000)
    world.clock.advance(s=5)
    beat(world, job, interval_ms=5_000)
    world.clock.advance(ms=14_999)
    assert state(world, job) is JobState.ACTIVE
    assert fetched(world.backend, worker_id="w2") == []
    world.clock.advance(ms=1)
    (again,) = fetched(world.backend, worker_id="w2")
    assert (again.id, again.attempt) == (job.id, 2)
    assert again.failures[-1].type == "worker_death"


def test_a_worker_that_dies_before_its_first_heartbeat_is_found_too(world: World) -> None:
    """The promise given with FETCH counts from there; the message comes back by itself."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=5_000)
    world.clock.advance(s=15)
    (received,) = world.messages.receive("default", 10, 30)
    assert received.message.job_id == job.id
    assert state(world, job) is JobState.AVAILABLE


def test_a_worker_that_beats_keeps_its_job_for_hours(world: World) -> None:
    """Also beyond the reservation that FETCH gave."""
    job = pushed(world.backend, timeout_s=86_400)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=15_000)
    for _ in range(600):
        world.clock.advance(s=15)
        beat(world, job)
    assert state(world, job) is JobState.ACTIVE


def test_two_lost_heartbeats_cost_nothing(world: World) -> None:
    """Worker protocol, section 10.3: a short silence is not a death."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=5_000)
    world.clock.advance(ms=14_900)
    beat(world, job, interval_ms=5_000)
    world.clock.advance(ms=14_900)
    assert state(world, job) is JobState.ACTIVE


@pytest.mark.parametrize("worker_id", ["w1", ""])
def test_a_client_that_never_beats_keeps_its_whole_reservation(
    world: World, worker_id: str
) -> None:
    """Half an hour, or what it asked for: silence says nothing about who promised nothing."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id=worker_id)
    world.clock.advance(s=1799)
    assert state(world, job) is JobState.ACTIVE
    assert world.backend.jobs.ack(job.id, worker_id or None, None).state is JobState.COMPLETED


def test_a_worker_that_names_no_interval_is_expected_every_15_seconds(world: World) -> None:
    """WRK-004: so it is dead after 45 seconds of silence, once it has beaten twice."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1")
    for _ in range(2):
        world.clock.advance(s=4)
        beat(world, job)
    world.clock.advance(ms=44_999)
    assert state(world, job) is JobState.ACTIVE
    world.clock.advance(ms=1)
    assert state(world, job) is JobState.AVAILABLE


def test_a_worker_that_beats_rarely_is_expected_rarely(world: World) -> None:
    """Its own pace is measured between two heartbeats."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1")
    world.clock.advance(s=300)
    beat(world, job)
    world.clock.advance(s=300)
    beat(world, job)
    world.clock.advance(s=899)
    assert state(world, job) is JobState.ACTIVE
    world.clock.advance(s=1)
    assert state(world, job) is JobState.AVAILABLE


def test_a_longer_extension_that_was_asked_for_is_given(world: World) -> None:
    """Who asks for two minutes is not dead after 45 seconds."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1")
    for _ in range(2):
        world.clock.advance(s=5)
        world.backend.workers.heartbeat("w1", [job.id], 120_000)
    world.clock.advance(s=119)
    assert state(world, job) is JobState.ACTIVE
    world.clock.advance(s=1)
    assert state(world, job) is JobState.AVAILABLE


def test_a_promise_counts_whatever_extension_is_asked_for(world: World) -> None:
    """Five seconds promised, a minute asked for: dead after fifteen."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=5_000)
    world.backend.workers.heartbeat("w1", [job.id], 60_000, WorkerReport(interval_ms=5_000))
    world.clock.advance(s=15)
    assert state(world, job) is JobState.AVAILABLE


def test_split_brain_the_report_of_a_worker_declared_dead_does_not_count(
    world: World,
) -> None:
    """Worker protocol, section 10.4; promise 2: before and after another has the job."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=5_000)
    world.clock.advance(s=15)
    for worker in ("w1", "w1", "w2"):
        with pytest.raises(ConflictError):
            world.backend.jobs.ack(job.id, "w1", None)
        with pytest.raises(ConflictError):
            world.backend.jobs.fail(job.id, "w1", ERROR)
        assert world.backend.workers.heartbeat("w1", [job.id]).lost == (job.id,)
        if worker == "w1":
            fetched(world.backend, worker_id="w2")
    assert world.backend.jobs.ack(job.id, "w2", None).state is JobState.COMPLETED


def test_the_dead_workers_message_comes_back_once_and_serves_the_job(world: World) -> None:
    """No message is left behind, none is missing."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=5_000)
    world.clock.advance(s=15)
    fetched(world.backend, worker_id="w2")
    world.backend.jobs.ack(job.id, "w2", None)
    assert world.held() == []


def test_the_last_attempt_of_a_dead_worker_discards_the_job(world: World) -> None:
    """Attempts never exceed the policy, also when workers keep dying."""
    job = pushed(world.backend, retry={"max_attempts": 2, "on_exhaustion": "dead_letter"})
    for worker in ("a", "b"):
        assert fetched(world.backend, worker_id=worker, heartbeat_interval_ms=1_000)
        world.clock.advance(s=3)
    gone = world.backend.jobs.info(job.id)
    assert (gone.state, gone.attempt, gone.is_dead_letter) == (JobState.DISCARDED, 2, True)
    assert fetched(world.backend, worker_id="c") == []


@pytest.mark.parametrize("interval", [0, 99, 3_600_001, -1])
def test_a_promise_that_no_worker_keeps_is_refused(world: World, interval: int) -> None:
    """And nothing is claimed or registered."""
    job = pushed(world.backend)
    with pytest.raises(InvalidRequestError, match="heartbeat_interval_ms"):
        fetched(world.backend, worker_id="w1", heartbeat_interval_ms=interval)
    with pytest.raises(InvalidRequestError, match="heartbeat_interval_ms"):
        world.backend.workers.heartbeat("w1", [], None, WorkerReport(interval_ms=interval))
    assert ([*world.stored.workers], state(world, job)) == ([], JobState.AVAILABLE)


# ------------------------------------------------------------------------- length of a reservation


@pytest.mark.parametrize(
    ("own_s", "asked_ms", "queue", "expected_s"),
    [
        (7, 9_000, "media", 7),
        (None, 9_000, "media", 9),
        (None, None, "media", 20),
        (None, None, "default", 1800),
    ],
)
def test_the_nearest_visibility_timeout_counts(
    own_s: float | None, asked_ms: int | None, queue: str, expected_s: int
) -> None:
    """OP-021: the job's own, else the request's, else the queue's, else half an hour."""
    world = World(settings=Settings(queue_visibility_timeouts_s=(("media", 20),)))
    job = pushed(world.backend, queue=queue, visibility_timeout_s=own_s, timeout_s=7200)
    world.backend.jobs.fetch(FetchRequest((queue,), visibility_timeout_ms=asked_ms))
    world.clock.advance(ms=expected_s * 1000 - 1)
    assert state(world, job) is JobState.ACTIVE
    world.clock.advance(ms=1)
    assert state(world, job) is JobState.AVAILABLE


def test_a_heartbeat_extends_by_the_queues_visibility_timeout() -> None:
    """WRK-014: where neither job nor heartbeat names one."""
    world = World(settings=Settings(queue_visibility_timeouts_s=(("default", 20),)))
    job = pushed(world.backend)
    fetched(world.backend, worker_id="")
    world.clock.advance(s=15)
    world.backend.workers.heartbeat(None, [job.id])
    world.clock.advance(ms=19_999)
    assert state(world, job) is JobState.ACTIVE
    world.clock.advance(ms=1)
    assert state(world, job) is JobState.AVAILABLE


# ------------------------------------------------------------------------- draining workers


@pytest.mark.parametrize("said", ["quiet", "terminate"])
def test_a_worker_that_says_it_drains_is_given_nothing(world: World, said: str) -> None:
    """ojs-graceful-shutdown, section 5.1; and running again, it is."""
    pushed(world.backend)
    world.backend.workers.heartbeat("w1", [], None, WorkerReport(state=said, active_jobs=1))
    assert fetched(world.backend, worker_id="w1") == []
    assert fetched(world.backend, worker_id="other") != []
    pushed(world.backend)
    world.backend.workers.heartbeat("w1", [], None, WorkerReport())
    assert fetched(world.backend, worker_id="w1") != []


def test_a_draining_worker_is_forgotten_when_it_would_count_as_dead(world: World) -> None:
    """The memory of one process must not starve a worker whose heartbeats go to another."""
    pushed(world.backend)
    world.backend.workers.heartbeat("w1", [], None, WorkerReport(state="quiet", active_jobs=1))
    world.clock.advance(s=45)
    assert fetched(world.backend, worker_id="w1") != []
