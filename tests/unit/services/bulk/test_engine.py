"""The engine that changes many jobs: bounded, and no failure stops the others."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.services import bulk
from ojs_aws.services.bulk import BUDGET_MS, BulkAction, BulkStatus, enqueue
from ojs_aws.services.bulk.purge import Purge
from ojs_aws.services.jobs.job_lists import JobFilter
from tests.job_steps import active, pushed
from tests.simulation.faults import Fault
from tests.simulation.world import World

PURGE = Purge(queue="default", states=(JobState.AVAILABLE,))


def push(world: World, count: int) -> list[JobRecord]:
    """Push some jobs."""
    records = [world.backend.jobs.push(Job("demo.echo", [1])).record for _ in range(count)]
    return [record for record in records if record is not None]


def test_a_purge_goes_on_where_one_write_fails_and_says_so(world: World) -> None:
    """The cursor does not move past the job that is left; a repetition finds it."""
    push(world, 3)
    first = len(world.faults.calls)
    world.faults.faulty, world.faults.fault = first + 3, Fault.FAILS_BEFORE
    with pytest.raises(BackendError):
        world.backend.queues.purge(PURGE)
    assert world.faults.calls[first + 3] == "save"
    world.faults.faulty = None
    states = [job.state for job in world.stored.jobs.values()]
    assert (states.count(JobState.CANCELLED), states.count(JobState.AVAILABLE)) == (2, 1)
    assert world.backend.queues.purge(PURGE).cancelled == 1


def test_a_purge_whose_time_ends_says_where_to_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did is no error; a busy machine may take long for each job."""
    push(world, 3)
    save = world.store.save

    def slow(*given: Any, **more: Any) -> Any:
        world.clock.advance(ms=BUDGET_MS // 2)
        return save(*given, **more)

    monkeypatch.setattr(world.store, "save", slow)
    first = world.backend.queues.purge(PURGE)
    assert (first.cancelled, first.cursor) == (2, "ready!")
    second = world.backend.queues.purge(PURGE, first.cursor)
    assert (second.cancelled, second.cursor) == (1, "")


@pytest.mark.parametrize("name", ["by filter", "by id", "queue"])
def test_what_there_is_no_time_for_is_left_as_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each operation on many jobs ends in time, and reports those that it did not reach."""
    jobs = push(world, 2)
    for module in (bulk, enqueue):  # both: the second one takes it from the first when imported
        monkeypatch.setattr(module, "BUDGET_MS", 0)
    if name == "queue":
        with pytest.raises(BackendError, match="no time left"):
            world.backend.queues.purge(PURGE)
    elif name == "by filter":
        report = world.backend.bulk.by_filter(BulkAction.CANCEL, JobFilter(queue="default"))
        assert {each.status for each in report.outcomes} == {BulkStatus.FAILED}
    else:
        ids = [job.id for job in jobs]
        report = world.backend.bulk.changes.named(BulkAction.CANCEL, ids)
        assert [(each.job_id, each.status) for each in report.outcomes] == [
            (job_id, BulkStatus.FAILED) for job_id in ids
        ]
    assert {job.state for job in world.stored.jobs.values()} == {JobState.AVAILABLE}


@pytest.mark.parametrize("queue", ["mail", "default"])
def test_cancelled_jobs_of_a_wide_queue_wake_those_that_wait_for_slots(queue: str) -> None:
    """As one that is cancelled by itself does: they may stand in any of its lines."""
    world = World(settings=Settings(wide_queues=(("mail", 4),)))
    job = active(world.backend, queue=queue, rate_limit={"key": "k", "concurrency": 1})
    world.backend.bulk.by_filter.named(BulkAction.CANCEL, [job.id])
    named = [each.message.job_id for each in world.messages.receive(queue, 10, 30)]
    assert named == ([job.id] if queue == "mail" else [])


def test_a_replaced_job_of_a_wide_queue_wakes_those_that_wait_for_its_slot() -> None:
    world = World(settings=Settings(wide_queues=(("mail", 4),)))
    policy = {"keys": ["type"], "on_conflict": "replace"}
    limit = {"key": "k", "concurrency": 1}
    job = active(world.backend, queue="mail", unique=policy, rate_limit=limit)
    new = pushed(world.backend, queue="mail", unique=policy, rate_limit=limit)
    named = {each.message.job_id for each in world.messages.receive("mail", 10, 30)}
    assert named == {job.id, new.id}
