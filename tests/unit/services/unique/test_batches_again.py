"""Large batches of unique jobs that are sent twice, and meet holders that change meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.batches import UniqueLock
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.domain.unique.keys import parse_unique_policy
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.unique import WantedJob
from ojs_aws.services.unique.batches import KeyReservation
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World
from tests.unit.services.unique.test_batches import (
    FEW,
    STRATEGIES,
    batch_of,
    live,
    name,
    outcome,
    push_all,
    recover,
    settled,
    small_world_of,
    unique,
    world_of,
)

pytestmark = pytest.mark.thorough


def amended(job: Job, **more: Any) -> Job:
    """The job with more in its unique policy."""
    policy: Any = job["unique"]
    changed = job.copy()
    changed["unique"] = {**policy, **more}
    return changed


def for_scheduled_ones(jobs: list[Job]) -> list[Job]:
    """The batch, whose first job gives way to scheduled jobs only."""
    return [amended(jobs[0], states=["scheduled"]), *jobs[1:]]


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_sent_twice_leaves_whom_its_policy_leaves(strategy: str, fault: Fault) -> None:
    """Whichever call fails: the holder is active, and the policy is about scheduled jobs."""
    jobs = for_scheduled_ones(batch_of(strategy, first_key=7, count=FEW))

    def begin() -> World:
        world = small_world_of()
        world.backend.jobs.push(unique(6, "reject", key=7))
        world.backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
        world.faults.calls.clear()
        return world

    clean = begin()
    push_all(clean, jobs)
    calls = list(clean.faults.calls)
    chosen = [at for at, call in enumerate(calls) if at < 9 or call not in {"insert", "reserve"}]
    for at in chosen:
        world = begin()
        world.faults.faulty, world.faults.fault = at, fault
        push_all(world, jobs)
        world.faults.faulty = None
        world.clock.advance(s=1)
        push_all(world, jobs)
        states = settled(world)
        assert states[name(6)] is JobState.ACTIVE, calls[: at + 1]
        assert states[name(1000)] is JobState.AVAILABLE, calls[: at + 1]


def test_a_job_put_into_its_place_late_replaces_whom_it_met() -> None:
    """The period of the one that held its key was over only after the batch was stored."""
    world = world_of()
    world.backend.jobs.push(unique(6, "reject", key=7))
    first, *others = batch_of("replace", first_key=7)
    first = amended(first, period="PT5S")
    calls = world.faults.calls
    calls.clear()

    def end(number: int) -> None:
        if calls[number] == "decide":
            world.faults.faulty, world.faults.fault = number + 1, Fault.DIES_BEFORE

    world.faults.afterwards = end
    assert isinstance(push_all(world, [first, *others]), ProcessDiedError)
    world.faults.afterwards = lambda _: None
    recover(world)
    assert live(world, 7) == [name(1000)]


def test_a_batch_sent_twice_leaves_a_job_that_was_moved_elsewhere() -> None:
    """An operator took the holder out of the queue that its key was made with."""
    world = world_of()
    keys = ["type", "args", "queue"]
    first, *others = batch_of("replace", first_key=7)
    first = amended(first, keys=keys)
    world.backend.jobs.push(amended(unique(6, "reject", key=7), keys=keys))
    before = world.stored.jobs[name(6)]
    world.stored.jobs[name(6)] = replace(before, queue="elsewhere", version=before.version + 1)
    world.faults.calls.clear()
    world.faults.faulty, world.faults.fault = 5, Fault.FAILS_AFTER
    assert isinstance(push_all(world, [first, *others]), BackendError)
    world.faults.faulty = None
    assert isinstance(push_all(world, [first, *others]), list)
    assert settled(world)[name(6)] is JobState.AVAILABLE
    assert settled(world)[name(1000)] is JobState.AVAILABLE


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_key_whose_job_was_ignored_in_the_end_stays_taken(strategy: str) -> None:
    """One copy of a batch took the lock; the other, which ignored the job, committed."""
    world = world_of()
    jobs = for_scheduled_ones(batch_of("ignore", first_key=7))
    world.backend.jobs.push(unique(6, "reject", key=7, scheduled_at="+PT1S"))
    check, same = world.backend.jobs.push.check, world.backend.jobs.push.new_jobs.same
    wanted = [WantedJob(check(job.copy()), parse_unique_policy(job["unique"])) for job in jobs]
    batch_push, reserve = world.backend.batch_push, world.unique.reserve

    def meanwhile(lock: UniqueLock, seen: UniqueLock | None) -> UniqueLock:
        """Let another copy take the locks, when this one has ignored the first job."""
        if lock.job_id == name(1001):
            world.unique.reserve = reserve  # type: ignore[method-assign]
            world.clock.advance(s=2)  # the holder is not scheduled any more
            other = KeyReservation(batch_push.unique(), lock.batch, same, lambda: False)
            assert other.plan(wanted, IN_ORDER).staged[0].record.id == name(1000)
        return reserve(lock, seen)

    world.unique.reserve = meanwhile  # type: ignore[method-assign]
    lets = batch_push.store_all(wanted, same)
    assert (lets[0].record.id, lets[0].is_duplicate) == (name(6), True)
    assert name(1000) not in world.stored.jobs
    again = batch_push.store_all(wanted, same)
    assert (again[0].record.id, again[0].is_duplicate) == (name(6), True)
    outcome(lambda: world.backend.jobs.push(unique(9, strategy, key=7)))
    assert len(live(world, 7)) == 1
