"""An occurrence fires once, whatever fails and however many ticks there are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pytest

from ojs_aws.domain.conflicts import StaleCronError
from ojs_aws.domain.cron.entry import CronEntry
from ojs_aws.domain.errors import (
    BackendError,
    ConflictError,
    NotFoundError,
)
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import decode
from ojs_aws.services.jobs.render import render_job
from tests.load import HUNG_S
from tests.simulation.faults import Fault, ProcessDiedError
from tests.simulation.world import World
from tests.unit.services.cron.test_scheduler import NAME, START, at, fetch, jobs, register

pytestmark = pytest.mark.thorough

POLICIES: Final = ("skip", "enqueue", "cancel_previous")


@pytest.fixture
def world() -> World:
    """A world at the start of the tests of cron jobs."""
    made = World()
    made.clock.at = at(START)
    return made


def test_a_tick_that_another_one_overtakes_has_not_failed(world: World) -> None:
    """The other one fired what was due."""
    register(world)
    world.clock.advance(s=60)
    plain = world.cron.save

    def save(before: CronEntry | None, after: CronEntry) -> None:
        world.cron.save = plain  # type: ignore[method-assign]
        world.backend.cron.scheduler.tick()
        plain(before, after)

    world.cron.save = save  # type: ignore[method-assign]
    report = world.backend.cron.scheduler.tick()
    assert (report.cron_due, report.cron_fired, report.cron_failed) == (1, 0, 0)
    assert len(jobs(world)) == 1


@pytest.mark.parametrize("overlap", ["allow", "skip", "enqueue"])
def test_any_number_of_ticks_fires_an_occurrence_once(world: World, overlap: str) -> None:
    """CRON-21: no leader is needed. All read the same version; one conditional write decides."""
    register(world, overlap=overlap)
    ticks = 16
    all_have_read = threading.Barrier(ticks)
    one_at_a_time = threading.Lock()
    plain_load, plain_save, plain_insert = world.cron.load, world.cron.save, world.store.insert

    def load(name: str) -> CronEntry | None:
        entry = plain_load(name)
        all_have_read.wait(HUNG_S)
        return entry

    def save(before: CronEntry | None, after: CronEntry) -> None:
        with one_at_a_time:
            plain_save(before, after)

    def insert(job: JobRecord) -> None:
        with one_at_a_time:
            plain_insert(job)

    world.cron.load, world.cron.save = load, save  # type: ignore[method-assign]
    world.store.insert = insert  # type: ignore[method-assign]
    for minute in range(1, 6):
        world.clock.advance(s=60)
        threads = [threading.Thread(target=world.backend.cron.scheduler.tick) for _ in range(ticks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(jobs(world)) == minute
        assert world.stored.crons[NAME].run_count == minute


def _attempt(call: Callable[[], Any]) -> None:
    for _ in range(2):
        try:
            call()
        except (BackendError, ProcessDiedError):
            continue
        except (ConflictError, NotFoundError, StaleCronError):
            return
        return


def _play(world: World, overlaps: Sequence[str]) -> None:
    """Policies; runs that are fetched and never end; ticks that may die anywhere."""
    for overlap in overlaps:
        name = overlap.replace("_", "-")
        _attempt(partial(register, world, name=name, overlap=overlap))
    for _ in range(3):
        world.clock.advance(s=60)
        _attempt(world.backend.cron.scheduler.tick)
        _attempt(lambda: fetch(world, 1))


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize(
    ("overlaps", "step"),
    [(["skip"], 1), (["enqueue"], 1), (["cancel_previous"], 1), (POLICIES, 5)],
    ids=["skip", "enqueue", "cancel_previous", "together"],
)
def test_no_fault_fires_twice_or_leaves_a_claim_open(
    overlaps: Sequence[str], step: int, fault: Fault
) -> None:
    """Each occurrence has one job, or is skipped, whichever call of ticks gets a fault.

    Of those for all policies together each fifth call; the slow test takes all of them.
    """
    _try_faults(overlaps, fault, step)


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(Fault))
def test_no_fault_in_ticks_for_several_jobs_fires_twice(fault: Fault) -> None:
    _try_faults(POLICIES, fault, 1)


def _try_faults(overlaps: Sequence[str], fault: Fault, step: int) -> None:
    """Inject a fault into the calls of ticks, one after the other."""
    clean = _world()
    _play(clean, overlaps)
    for faulty in range(0, len(clean.faults.calls), step):
        world = _world()
        world.faults.faulty, world.faults.fault = faulty, fault
        _play(world, overlaps)
        world.faults.faulty = None
        world.clock.advance(s=60)
        world.backend.cron.scheduler.tick()
        where = f"call {faulty} ({world.faults.calls[faulty]}) {fault.value}"
        scheduled = [decode(render_job(job)["meta"]) for job in jobs(world)]
        seen = [(m["cron_name"], m["cron_scheduled_at"]) for m in scheduled if isinstance(m, dict)]
        assert len(seen) == len(set(seen)), where
        for entry in world.stored.crons.values():
            assert not entry.is_claimed, where
            runs = [name for name, _ in seen if name == entry.name]
            assert len(runs) == entry.run_count, where
            assert entry.next_run_at == at("2026-02-12T20:20:00Z"), where


def _world() -> World:
    world = World()
    world.clock.at = at(START)
    return world
