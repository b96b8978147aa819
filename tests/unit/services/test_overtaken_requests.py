"""Requests that find something else by the time they write: they go on from it, or say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.domain.conflicts import StaleSettingsError
from ojs_aws.domain.cron.entry import OverlapPolicy
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.services.cron.scheduler import GRACE_MS
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.job_steps import pushed
from tests.simulation.world import World
from tests.unit.services.cron.test_scheduler import NAME, at, fetch, jobs, pass_minutes, register

REFUSED = BackendError("refused")
SOON = "2026-02-12T20:15:10Z"


@pytest.fixture
def world() -> World:
    """A world that begins ten seconds past a quarter."""
    made = World()
    made.clock.at = at(SOON)
    return made


def before(port: Any, name: str, act: Callable[[], object], *, call: int = 1) -> None:
    """Let something happen before the next call of a method, or before one after it."""
    plain, left = getattr(port, name), [call]

    def acting(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            setattr(port, name, plain)
            act()
        return plain(*given, **named)

    setattr(port, name, acting)


def after(port: Any, name: str, act: Callable[[], object]) -> None:
    """Let something happen right after the next call of a method."""
    plain = getattr(port, name)

    def acting(*given: Any, **named: Any) -> Any:
        setattr(port, name, plain)
        answer = plain(*given, **named)
        act()
        return answer

    setattr(port, name, acting)


def refuse(problem: Exception = REFUSED) -> Callable[[], object]:
    """Make something that happens and raises an error."""

    def refused() -> object:
        raise problem

    return refused


# ------------------------------------------------------------------------------------------- cron
def test_a_registration_goes_on_from_another_one(world: World) -> None:
    """The last one holds, and the plan is kept."""
    before(world.cron, "save", lambda: register(world, overlap="allow"))
    register(world, overlap="skip")
    assert world.stored.crons[NAME].definition.overlap is OverlapPolicy.SKIP
    assert world.stored.crons[NAME].version == 2


def test_a_cron_job_is_disabled_although_it_is_registered_again_meanwhile(world: World) -> None:
    """Of the other one's change everything else is kept."""
    register(world)
    before(world.cron, "save", lambda: register(world, overlap="allow"))
    world.backend.cron.service.set_enabled(NAME, is_enabled=False)
    found = world.stored.crons[NAME].definition
    assert (found.is_enabled, found.overlap) == (False, OverlapPolicy.ALLOW)


def test_a_cron_job_is_deleted_although_it_changes_meanwhile(world: World) -> None:
    """The request names it, not one of its versions."""
    register(world)
    before(world.cron, "delete", lambda: register(world, overlap="allow"))
    world.backend.cron.service.delete(NAME)
    assert world.stored.crons == {}


def test_a_trigger_goes_on_from_an_occurrence_that_came_first(world: World) -> None:
    """Both are run."""
    register(world, overlap="allow")
    before(world.cron, "save", lambda: pass_minutes(world))
    world.backend.cron.service.trigger(NAME)
    assert len(jobs(world)) == 2


def test_a_triggered_run_that_another_one_finishes_is_enqueued_once(world: World) -> None:
    """A slow request and a tick: the claim is there for both."""
    register(world, overlap="allow")

    def finish() -> None:
        world.clock.advance(ms=GRACE_MS)
        world.backend.cron.scheduler.fire(NAME)

    before(world.cron, "save", finish, call=2)
    _, occurrence = world.backend.cron.service.trigger(NAME)
    assert [job.id for job in jobs(world)] == [occurrence.job_id]
    assert not world.stored.crons[NAME].is_claimed


@pytest.mark.parametrize("is_gone", [False, True], ids=["cancelled", "gone"])
def test_a_cron_job_is_deleted_although_a_run_of_it_waits_no_more(
    world: World, *, is_gone: bool
) -> None:
    """Somebody cancelled the run that was held, and somebody else may have removed it."""
    register(world, overlap="enqueue")
    pass_minutes(world)
    fetch(world)
    pass_minutes(world)
    (held,) = world.stored.crons[NAME].held
    world.backend.jobs.cancel(held)
    if is_gone:
        del world.stored.jobs[held]
    world.backend.cron.service.delete(NAME)
    assert world.stored.crons == {}


def test_a_run_that_is_removed_while_it_is_looked_at_does_not_block(world: World) -> None:
    """Its reservation is over; between the look and the write that says so it goes."""
    register(world, overlap="skip")
    pass_minutes(world)
    (first,) = fetch(world)
    world.clock.advance(s=7200)
    after(world.store, "load_many", lambda: world.stored.jobs.pop(first))
    report = world.backend.cron.scheduler.tick()
    assert (report.cron_fired, report.cron_failed) == (1, 0)
    assert [job.state for job in jobs(world)] == [JobState.AVAILABLE]


# --------------------------------------------------------------------------------------------- jobs
def test_a_job_that_is_removed_while_a_fetch_looks_at_it_is_no_error(world: World) -> None:
    """It had expired, and between the refused claim and the write that says so it goes."""
    job = pushed(world.backend, expires_at="+PT1M")
    world.clock.advance(s=60)
    before(world.store, "save", lambda: world.stored.jobs.pop(job.id))
    assert fetch(world) == []


# ----------------------------------------------------------------------------------- queue settings
def change(world: World, **members: Any) -> Callable[[], object]:
    """Make a change of a queue's settings."""
    return lambda: world.backend.queues.config.change("q", members)


def test_a_queue_that_is_created_twice_at_once_is_created_once(world: World) -> None:
    """The second may be repeated, and learns then that there is such a queue."""
    first: dict[str, Any] = {"max_size": 7}
    before(world.queue_settings, "save", lambda: world.backend.queues.config.create("q", first))
    with pytest.raises(ConflictError):
        world.backend.queues.config.create("q", {"max_size": 8})
    assert world.backend.queues.config.get("q").own == first


def test_two_changes_of_a_queue_at_once_are_both_made(world: World) -> None:
    """Each names its own members."""
    before(world.queue_settings, "save", change(world, max_size=7))
    change(world, warning_threshold=0.5)()
    members = world.backend.queues.config.get("q").own
    assert (members["max_size"], members["warning_threshold"]) == (7, 0.5)


def test_a_queue_is_drained_although_its_settings_change_meanwhile(world: World) -> None:
    """And keeps the change."""
    change(world, max_size=7)()
    before(world.queue_settings, "save", change(world, max_size=8))
    drained = world.backend.queues.config.drain("q")
    assert (drained.settings.state, drained.settings.members["max_size"]) == ("draining", 8)


def test_a_queue_whose_settings_change_meanwhile_is_not_deleted(world: World) -> None:
    """Whoever changes it wants to use it."""
    change(world, max_size=7)()
    before(world.queue_settings, "save", change(world, max_size=8))
    with pytest.raises(ConflictError):
        world.backend.queues.config.delete("q", {"strategy": "reject"})
    assert world.backend.queues.config.get("q").own == {"max_size": 8}


@pytest.mark.parametrize("problem", [REFUSED, StaleSettingsError()], ids=["refused", "overtaken"])
def test_a_job_is_there_though_its_queue_cannot_take_over_the_default(
    world: World, problem: Exception
) -> None:
    """The next job of another process tries again, or somebody has done it."""
    world.backend.queues.config.change(DEFAULT_POLICY, {"visibility_timeout": "PT60S"})
    before(world.queue_settings, "save", refuse(problem))
    world.backend.jobs.push(Job("demo.echo", [], queue="q"))
    assert len(world.backend.jobs.fetch(FetchRequest(("q",)))) == 1


def test_a_deleted_queue_that_two_jobs_bring_back_takes_both(world: World) -> None:
    """One of the two processes writes that it is there again."""
    change(world, max_size=7)()
    world.backend.queues.config.delete("q", {"strategy": "reject"})
    before(world.queue_settings, "save", refuse(StaleSettingsError()))
    world.clock.advance(s=10)
    world.backend.jobs.push(Job("demo.echo", [], queue="q"))
    assert len(world.backend.jobs.fetch(FetchRequest(("q",)))) == 1
