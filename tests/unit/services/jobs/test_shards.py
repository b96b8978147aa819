"""Which line of a wide queue PUSH gives a job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.services.backend import Backend
from tests.jobs import any_job
from tests.simulation.world import World

LINES = 4


def a_backend(shards: int = LINES) -> Backend:
    """A process that knows of a queue with lines; new jobs are spread over so many."""
    world = World(settings=Settings(wide_queues=(("mail", LINES),)))
    world.backend.queues.config.change("mail", {"ordering_shards": shards})
    return world.backend


def shards(backend: Backend, count: int = 60, **attributes: Any) -> set[int]:
    """The shards of some jobs."""
    check = backend.jobs.push.check
    made = (any_job("a.b", **attributes) for _ in range(count))
    return {check(_complete(backend, job)).shard for job in made}


def _complete(backend: Backend, job: Job) -> Job:
    job.id = backend.ids.job_id()
    return job


def test_jobs_are_spread_over_as_many_lines_as_the_queue_says() -> None:
    """And those of other queues over none."""
    assert shards(a_backend(), queue="mail") == {0, 1, 2, 3}
    assert shards(a_backend(shards=2), queue="mail") == {0, 1}
    assert shards(a_backend(shards=1), queue="mail") == {0}
    assert shards(a_backend(), queue="default") == {0}


def test_a_process_uses_no_line_that_it_does_not_know() -> None:
    """Nobody of its deployment would look there."""
    backend = a_backend()
    builder = replace(backend.jobs.push.job_builder, lines={"mail": 2})
    assert shards(backend, queue="mail") == {0, 1, 2, 3}
    few = replace(backend.jobs.push, job_builder=builder)
    jobs = [_complete(backend, any_job("a.b", queue="mail")) for _ in range(60)]
    assert {few.check(job).shard for job in jobs} == {0, 1}


def test_jobs_of_a_sequence_share_a_line() -> None:
    """Each tenant's own."""
    backend = a_backend()
    found = [shards(backend, 5, queue="mail", sequence=f"order-{n}") for n in range(20)]
    assert {len(each) for each in found} == {1}
    assert len(set.union(*found)) > 1
    tenants = [
        shards(backend, 1, queue="mail", sequence="order", meta={"tenant_id": f"t-{n}"})
        for n in range(20)
    ]
    assert len(set.union(*tenants)) > 1


def test_a_job_with_a_fairness_key_has_a_line_like_all() -> None:
    """By its id: a key is spread over the lines."""
    assert shards(a_backend(), queue="mail", fairness={"key": "k"}) == {0, 1, 2, 3}
