"""Heartbeats of an endpoint that has taken a job over from the worker which delivered it."""

from __future__ import annotations

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord, Reservation
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World


def claimed(world: World, interval_ms: int | None, lasts_ms: int = 60_000) -> JobRecord:
    """A job that a worker has fetched, which promised to beat, or did not."""
    world.backend.jobs.push(Job("a.b", []))
    request = FetchRequest(
        queues=("default",),
        count=1,
        worker_id="w",
        visibility_timeout_ms=lasts_ms,
        heartbeat_interval_ms=interval_ms,
    )
    (job,) = world.backend.jobs.fetch(request)
    return job


def extended(world: World, worker_id: str | None, job: JobRecord, ms: int) -> Reservation:
    """The reservation after a heartbeat."""
    world.backend.workers.heartbeat.extend(worker_id, job.id, ms, which=attempt_of(job), start=None)
    held = world.stored.jobs[job.id].reservation
    assert held is not None
    return held


@pytest.mark.parametrize(("worker_id", "due_ms"), [(None, 300_000), ("w", 45_000)])
def test_only_who_took_a_job_over_need_not_beat_on(worker_id: str | None, due_ms: int) -> None:
    """The worker has promised to, and counts as dead without it."""
    world = World()
    job = claimed(world, interval_ms=15_000)
    now = world.clock.now()
    held = extended(world, worker_id, job, 300_000)
    assert held.due_at - now == pytest.approx(due_ms, abs=5)


def test_a_job_of_a_worker_that_never_beats_ends_when_it_did() -> None:
    """A shorter wish shortens nothing."""
    world = World()
    job = claimed(world, interval_ms=None, lasts_ms=600_000)
    assert job.reservation is not None
    held = extended(world, None, job, 1000)
    assert (held.due_at, held.alive_until) == (job.reservation.due_at, None)
