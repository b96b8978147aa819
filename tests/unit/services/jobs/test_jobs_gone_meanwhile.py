"""Jobs that are removed, or that others change, between a look at them and the write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.errors import BackendError, DocumentMissingError, OjsError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.services.bulk.purge import Purge
from tests.job_steps import fetched_ids, pushed
from tests.simulation.world import World
from tests.unit.services.dead_letters.test_service import RULE, die, with_rules
from tests.unit.services.test_overtaken_requests import before, refuse
from tests.unit.services.workflows.test_advance import create
from tests.unit.services.workflows.test_advance import job as step

KEY = "01961234-5678-7abc-8def-0123456789ab"


def gone(world: World, job_id: str) -> Callable[[], object]:
    """Remove a job, as its time to live does."""
    return lambda: world.stored.jobs.pop(job_id)


# ------------------------------------------------------------------------------------------- FETCH
def test_a_due_job_that_is_removed_meanwhile_is_no_error_of_a_fetch(world: World) -> None:
    """There is nothing to run."""
    job_id = pushed(world.backend, scheduled_at="+PT1S").id
    world.clock.advance(s=2)
    before(world.store, "save", gone(world, job_id))
    assert fetched_ids(world.backend) == []
    assert world.stored.jobs == {}


def test_a_table_that_does_not_answer_is_not_asked_job_by_job(world: World) -> None:
    """One call fails, and so would each of the others."""
    for _ in range(3):
        pushed(world.backend, scheduled_at="+PT1S")
    world.clock.advance(s=2)
    begun = len(world.faults.calls)
    before(world.store, "load_many", refuse())
    with pytest.raises(BackendError):
        fetched_ids(world.backend, count=3)
    assert "load" not in world.faults.calls[begun:]


def test_what_was_claimed_is_given_though_the_fetch_cannot_look_further(world: World) -> None:
    """Behind jobs that a limit keeps waiting."""
    first = pushed(world.backend, priority=9).id
    limit = {"key": "k", "concurrency": 1}
    second = pushed(world.backend, priority=8, rate_limit=limit).id
    pushed(world.backend, rate_limit=limit)
    before(world.store, "listed", refuse(ValueError("unreadable")))
    assert fetched_ids(world.backend, count=5) == [first, second]


def test_a_bucket_that_changes_before_the_claim_is_looked_at_again(world: World) -> None:
    """An operator changes the limit at this moment, and the job may still begin."""
    job_id = pushed(world.backend, rate_limit={"key": "k", "concurrency": 2}).id
    now = world.clock.now()
    change = lambda: world.limits.override("k", None, '{"concurrency":3}', None, now)  # noqa: E731
    before(world.store, "claim_within", change)
    assert fetched_ids(world.backend) == [job_id]


def test_a_job_whose_documents_cannot_be_read_keeps_no_other_back(world: World) -> None:
    """It comes back when its reservation ends."""
    jobs = [pushed(world.backend).id for _ in range(2)]
    fill_many = world.store.fill_many

    def first_is_unreadable(found: Sequence[JobRecord]) -> Sequence[JobRecord | OjsError]:
        return [DocumentMissingError("gone"), *fill_many(found)[1:]]

    world.store.fill_many = first_is_unreadable  # type: ignore[assignment, method-assign]
    assert fetched_ids(world.backend, count=2) == jobs[1:]
    assert world.stored.jobs[jobs[0]].state is JobState.ACTIVE


# ------------------------------------------------------------------------------------- others
def test_a_heartbeat_says_that_a_job_that_is_removed_meanwhile_is_lost(world: World) -> None:
    """Its worker stops."""
    job_id = pushed(world.backend).id
    fetched_ids(world.backend)
    world.clock.advance(s=1)
    before(world.store, "extend", gone(world, job_id))
    beat = world.backend.workers.heartbeat("w", [job_id])
    assert list(beat.lost) == [job_id]


def test_results_of_many_leave_out_a_job_that_is_removed_meanwhile(world: World) -> None:
    """Its time was over, and what says so finds none."""
    job_id = pushed(world.backend, expires_at="+PT1S").id
    world.clock.advance(s=2)
    before(world.store, "save", gone(world, job_id))
    assert world.backend.outcomes.results.many([job_id]) == {job_id: None}


@pytest.mark.parametrize("states", [(JobState.AVAILABLE,), (JobState.CANCELLED,)])
def test_a_purge_counts_no_job_that_is_gone_or_changed_meanwhile(
    world: World, states: tuple[JobState, ...]
) -> None:
    """Somebody else purges at the same time, or something is written to an ended job."""
    job_id = pushed(world.backend).id
    if states == (JobState.CANCELLED,):
        world.backend.jobs.cancel(job_id)
        before(world.store, "delete", lambda: changed(world, job_id))
    else:
        before(world.store, "save", gone(world, job_id))
    purged = world.backend.queues.purge(Purge(queue="default", states=states))
    assert (purged.deleted, purged.cancelled) == (0, 0)


def changed(world: World, job_id: str) -> JobRecord:
    """Write a job once more."""
    found = world.stored.jobs[job_id]
    world.stored.jobs[job_id] = replace(found, version=found.version + 1)
    return found


def test_a_key_is_free_when_its_job_is_removed_while_another_wants_it(world: World) -> None:
    """Its time was over, and what says so finds none."""
    unique: Any = {"keys": ["type"], "on_conflict": "reject"}
    job_id = pushed(world.backend, unique=unique, expires_at="+PT1S").id
    world.clock.advance(s=2)
    before(world.store, "save", gone(world, job_id))
    second = pushed(world.backend, unique=unique).id
    assert list(world.stored.jobs) == [second]


def test_a_workflow_is_shown_though_a_job_of_it_is_removed_meanwhile(world: World) -> None:
    """Without that job."""
    body = {"type": "group", "name": "g", "jobs": [step(), step()]}
    made = create(world, body).view.workflow
    held, other = fetched_ids(world.backend, count=2)
    world.clock.advance(s=3600)
    before(world.store, "save", gone(world, held))
    shown = world.backend.workflows.service.get(made.id)
    assert [job.id for job in shown.jobs.values()] == [other]


def test_a_workflow_is_cancelled_though_a_job_of_it_is_removed_meanwhile(world: World) -> None:
    """The others are cancelled."""
    made = create(world, {"type": "group", "name": "g", "jobs": [step(), step()]}).view.workflow
    first, second = sorted(world.stored.jobs)
    before(world.store, "save", gone(world, first))
    world.backend.workflows.service.cancel(made.id)
    assert world.stored.jobs[second].state is JobState.CANCELLED


# ------------------------------------------------------------------------------- dead letters
def test_a_dead_letter_that_an_operator_retries_meanwhile_is_not_pruned(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It is a job again, and that is no error."""
    dead = die(world)
    upkeep = world.backend.dead_letters.upkeep
    upkeep.max_count = 0
    world.clock.advance(s=300)
    before(world.store, "delete", lambda: world.backend.dead_letters.service.retry(dead.id))
    report = upkeep.tick()
    assert (report.pruned, report.failed) == (0, 0)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert world.stored.jobs[dead.id].state is JobState.AVAILABLE


def test_dead_letters_that_cannot_be_counted_do_not_stop_the_next_queue(world: World) -> None:
    """Whatever the error is."""
    dead = [die(world, queue=queue) for queue in ("default", "a", "b")]  # a round begins at any
    upkeep = world.backend.dead_letters.upkeep
    upkeep.max_count = 0
    world.clock.advance(s=300)
    before(world.store, "count", refuse(ValueError("unreadable")))
    report = upkeep.tick()
    assert (report.pruned, report.failed) == (2, 1)
    assert len(world.stored.jobs) == len(dead) - 2


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "failing"])
def test_a_dead_letter_that_cannot_be_replayed_does_not_stop_the_next(
    caplog: pytest.LogCaptureFixture, *, is_gone: bool
) -> None:
    """One that was removed is no error."""
    world = with_rules(RULE | {"delay": "PT0S"})
    first, _ = (die(world, "ConnectionError") for _ in range(2))
    world.clock.advance(s=300)
    act = gone(world, first.id) if is_gone else refuse(ValueError("unreadable"))
    before(world.store, "save", act)
    assert world.backend.dead_letters.upkeep.tick().replayed == 1
    assert (first.id in caplog.text) is not is_gone
