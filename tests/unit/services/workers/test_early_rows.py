"""Rows of the waiting list that a heartbeat left where they were (decision 89)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerReport
from tests.job_steps import fetched, pushed
from tests.simulation.world import World
from tests.unit.services.test_overtaken_requests import before

BEAT = WorkerReport(interval_ms=15_000)


def held(world: World, count: int) -> list[str]:
    """Return jobs of a worker that has sent one heartbeat and then falls silent."""
    jobs = [pushed(world.backend) for _ in range(count)]
    fetched(world.backend, count=count, worker_id="w1", heartbeat_interval_ms=15_000)
    world.clock.advance(s=15)
    names = [job.id for job in jobs]
    world.backend.workers.heartbeat("w1", names, report=BEAT)
    return names


def rows(world: World) -> set[int]:
    """Return in how many milliseconds the waiting list shows jobs as due."""
    page = world.store.listed("default", JobList.WAITING, 100)
    return {row.due - world.clock.now() for row in page.jobs}


def test_a_row_that_was_left_is_not_seen_while_its_worker_beats(world: World) -> None:
    """It is moved before its time comes, also if the heartbeat is late by two seconds."""
    [job_id] = held(world, 1)
    for _ in range(40):
        world.clock.advance(s=17)
        assert min(rows(world)) > 0
        beat = world.backend.workers.heartbeat("w1", [job_id], report=BEAT)
        assert beat.extended == (job_id,)


def test_who_finds_an_early_row_moves_it_to_the_due_time(world: World) -> None:
    """The job is not given out before that, and at that time it is."""
    [job_id] = held(world, 1)
    assert rows(world) == {30_000}
    world.clock.advance(s=31)
    assert fetched(world.backend, worker_id="w2") == []
    assert rows(world) == {14_000}
    world.clock.advance(s=14)
    assert [job.id for job in fetched(world.backend, worker_id="w2")] == [job_id]


def test_the_sweep_moves_early_rows_too(world: World) -> None:
    held(world, 3)
    world.clock.advance(s=36)
    world.backend.upkeep.sweep.tick()
    assert rows(world) == {9_000}


def test_a_heartbeat_that_moves_an_early_row_first_is_no_failure(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It comes between the sweep's look at the job and its write."""
    [job_id] = held(world, 1)
    world.clock.advance(s=36)
    beat = partial(world.backend.workers.heartbeat, "w1", [job_id], report=BEAT)
    before(world.store, "save", beat)
    world.backend.upkeep.sweep.tick()
    assert rows(world) == {45_000}
    assert not caplog.records


def test_a_worker_that_never_beats_keeps_its_whole_reservation(world: World) -> None:
    """Its job was listed early, as if it would beat; who finds that lists it when it is due."""
    job = pushed(world.backend)
    fetched(world.backend, worker_id="w1")
    assert rows(world) == {45_000}
    world.clock.advance(s=45)
    assert fetched(world.backend, worker_id="w2") == []
    assert rows(world) == {1_755_000}
    world.clock.advance(s=1_754)
    assert world.backend.jobs.ack(job.id, "w1", None).state is JobState.COMPLETED


def test_rows_are_early_only_for_workers_that_may_beat(world: World) -> None:
    """Not without a name, or where the length of the reservation was named."""
    pushed(world.backend)
    fetched(world.backend, worker_id="")
    assert rows(world) == {1_800_000}
    pushed(world.backend)
    fetched(world.backend, worker_id="w1", visibility_timeout_ms=60_000)
    assert rows(world) == {1_800_000, 60_000}


def test_a_clock_that_is_behind_the_last_heartbeats_does_no_harm(world: World) -> None:
    """Another process answered that one, and its clock was ahead."""
    [job_id] = held(world, 1)
    for back_ms in (1, 999, 3_000, 40_000):
        world.clock.advance(ms=-back_ms)
        world.backend.workers.heartbeat("w1", [job_id], report=BEAT)
        world.clock.advance(s=1)
        assert world.backend.workers.heartbeat("w1", [job_id], report=BEAT).lost == ()


def test_early_rows_hide_what_is_due_for_one_fetch_only(world: World) -> None:
    """A process with thirty jobs has died, and another job whose message is lost is due."""
    held(world, 30)
    due = pushed(world.backend, scheduled_at="+PT31S")
    world.clock.advance(s=32)
    world.lose_messages()
    assert fetched(world.backend, worker_id="w2") == []
    assert [job.id for job in fetched(world.backend, worker_id="w2")] == [due.id]


def test_a_heartbeat_after_its_row_was_moved_finds_it(world: World) -> None:
    """The worker was late, and not dead."""
    [job_id] = held(world, 1)
    world.clock.advance(s=31)
    world.backend.upkeep.sweep.tick()
    assert world.backend.workers.heartbeat("w1", [job_id], report=BEAT).extended == (job_id,)
    assert world.backend.jobs.ack(job_id, "w1", None).state is JobState.COMPLETED


@pytest.mark.parametrize("is_late", [False, True])
def test_a_row_after_the_due_time_would_let_lower_priority_go_first(
    world: World, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    """Why rows are early and never late: its own message alone does not bring a job to its turn.

    Promise 4: the fetches do not overlap, the index is up to date, and no message is lost.
    """
    world.receive_newest_first()
    urgent = pushed(world.backend, priority=10)
    fetched(world.backend, worker_id="w1", heartbeat_interval_ms=15_000)
    usual = [pushed(world.backend).id for _ in range(3)]
    if is_late:
        job = world.stored.jobs[urgent.id]
        assert job.reservation is not None
        alive_until = Instant(job.reservation.due_at + 30_000)
        later = replace(job.reservation, expires_at=alive_until, alive_until=alive_until)
        world.index_shows(job.id, replace(job, reservation=later))
    world.clock.advance(s=45)
    [first] = fetched(world.backend, worker_id="w2")
    assert (first.id == urgent.id) is not is_late
    assert (first.id in usual) is is_late
