"""When an occurrence is claimed, and by whom: at the very instants, and what each of it costs."""

from __future__ import annotations

import pytest

from ojs_aws.domain.cron import transitions as cron
from ojs_aws.domain.cron.entry import Outcome
from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.cron.scheduler import AHEAD_MS, GRACE_MS
from tests.simulation.world import World
from tests.unit.services.cron.test_scheduler import (
    NAME,
    START,
    at,
    fetch,
    jobs,
    latest,
    pass_minutes,
    register,
)

DUE = at("2026-02-12T20:16:00Z")


@pytest.fixture
def world() -> World:
    made = World()
    made.clock.at = at(START)
    return made


@pytest.mark.parametrize(("at_ms", "fired"), [(DUE - 1, 0), (DUE, 1)])
def test_a_tick_fires_what_is_due_at_its_very_instant(world: World, at_ms: int, fired: int) -> None:
    register(world)
    world.clock.at = at_ms
    assert world.backend.cron.scheduler.tick().cron_fired == fired
    assert len(jobs(world)) == fired


@pytest.mark.parametrize(("after_ms", "enqueued"), [(0, 0), (GRACE_MS - 1, 0), (GRACE_MS, 1)])
def test_a_claim_is_left_to_its_own_process_for_a_while(
    world: World, after_ms: int, enqueued: int
) -> None:
    """Then whoever comes enqueues its job."""
    entry = register(world)
    world.clock.at = DUE
    job_id = "01990000-0000-7000-8000-0000000000aa"
    world.stored.crons[NAME] = cron.claim(entry, Instant(DUE), job_id, {})
    world.clock.at = DUE + after_ms
    world.backend.cron.scheduler.fire(NAME)
    assert [job.id for job in jobs(world)] == [job_id] * enqueued


def test_a_settled_claim_keeps_nobody_from_the_next_second(world: World) -> None:
    register(world, expression="* * * * * *", overlap="allow")
    for _ in range(3):
        world.clock.advance(s=1)
        world.backend.cron.scheduler.tick()
    assert len(jobs(world)) == 3


def test_a_cron_job_enabled_by_a_clock_behind_runs_no_occurrence_twice(world: World) -> None:
    """The one that fired it was ahead."""
    register(world)
    world.clock.at = DUE + 100
    world.backend.cron.scheduler.tick()
    world.clock.at = DUE - 2_000
    for is_enabled in (False, True):
        world.backend.cron.service.set_enabled(NAME, is_enabled=is_enabled)
    world.clock.at = DUE + 10_000
    world.backend.cron.scheduler.tick()
    assert len(jobs(world)) == 1


@pytest.mark.parametrize(("ahead_ms", "alarms"), [(AHEAD_MS, 1), (AHEAD_MS + 1, 0)])
def test_an_alarm_is_set_for_what_is_due_before_the_next_tick_but_one(
    world: World, ahead_ms: int, alarms: int
) -> None:
    due = at("2026-02-12T21:30:00Z")
    world.clock.at = due - ahead_ms
    register(world, expression="30 21 * * *")
    assert len(world.alarms_set()) == alarms


def test_a_run_whose_time_ends_now_blocks_no_occurrence(world: World) -> None:
    """Its reservation ends at the instant at which the next one is due."""
    register(world, job={"retry": {"max_attempts": 1}})
    pass_minutes(world)
    (active,) = fetch(world)
    held = world.stored.jobs[active].reservation
    assert held is not None
    world.clock.at = held.due_at - held.due_at % 60_000 - 60_000
    world.backend.cron.scheduler.tick()
    assert latest(world).blocked_by == active
    world.clock.at = held.due_at
    world.backend.cron.scheduler.tick()
    assert latest(world).outcome is Outcome.TRIGGERED


def test_runs_that_were_held_wait_also_where_runs_may_overlap_now(world: World) -> None:
    """The policy was another one when they were enqueued."""
    register(world, overlap="enqueue")
    pass_minutes(world, 3)
    (active,) = fetch(world)
    register(world, overlap="allow")
    pass_minutes(world)
    assert len(jobs(world, JobState.PENDING)) == 2
    world.backend.jobs.ack(active, "w", None)
    pass_minutes(world)
    assert len(jobs(world, JobState.PENDING)) == 1


@pytest.mark.parametrize(("overlap", "reads"), [("skip", 1), ("allow", 0)])
def test_states_of_runs_are_read_only_where_they_decide(
    world: World, overlap: str, reads: int
) -> None:
    """Not those of the first run, as there is none before it, nor where runs may overlap."""
    register(world, overlap=overlap)
    for number in range(2):
        before = len(world.faults.calls)
        pass_minutes(world)
        assert world.faults.calls[before:].count("load_many") == number * reads


def test_an_occurrence_with_a_duplicate_job_names_the_job_that_was_there(
    world: World,
) -> None:
    unique = {"keys": ["type"], "on_conflict": "ignore"}
    register(world, overlap="allow", job={"unique": unique})
    pass_minutes(world, 2)
    (only,) = jobs(world)
    last = latest(world)
    assert (last.outcome, last.reason, last.blocked_by) == (Outcome.SKIPPED, "duplicate", only.id)
