"""Clocks of functions differ by seconds: what follows never comes before what it follows on.

Found by the simulation (docs/simulation.md); each of these failed before it was fixed.
"""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError, DuplicateError
from ojs_aws.domain.job import JobState, Reservation
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import BulkAction, BulkStatus
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.job_steps import fetched, pushed
from tests.simulation.world import World

JOB = "01990000-0000-7000-8000-aaaaaaaaaaaa"
UNIQUE = {"keys": ["type"], "on_conflict": "replace"}


def of(attributes: dict[str, Any], argument: int = 1) -> Job:
    return Job("a.b", [argument], id=JOB, **attributes)


@pytest.mark.parametrize("limit", [None, {"key": "api", "concurrency": 1}])
def test_a_job_never_starts_before_it_was_enqueued(world: World, limit: Any) -> None:
    """By a process whose clock is behind, and with no call more than ever."""
    job = Job("a.b", [1])
    if limit is not None:
        job["rate_limit"] = limit
    pushed = world.backend.jobs.push(job).record
    world.clock.advance(s=-2)
    world.faults.calls.clear()
    (claimed,) = fetched(world.backend)
    assert pushed is not None
    assert claimed.started_at == pushed.enqueued_at
    assert len([call for call in world.faults.calls if call.startswith("claim")]) <= 1


def test_a_stale_row_of_the_index_does_not_make_a_job_start_too_early(world: World) -> None:
    """The write itself insists; what it met is claimed at once."""
    job = pushed(world.backend)
    fetched(world.backend)
    world.clock.advance(s=1801)
    world.backend.jobs.info(job.id)  # lost, and available again since then
    world.index_shows(job.id, job)
    world.lose_messages()
    world.clock.advance(s=-60)
    (claimed,) = fetched(world.backend)
    stored = world.stored.jobs[job.id]
    assert stored.enqueued_at is not None
    assert claimed.started_at is not None
    assert claimed.started_at >= stored.enqueued_at


def test_a_job_never_ends_before_it_started(world: World) -> None:
    """ACK asks again where its clock is behind; in the ordinary case it is one call."""
    pushed(world.backend)
    (claimed,) = fetched(world.backend)
    world.faults.calls.clear()
    world.clock.advance(s=-2)
    done = world.backend.jobs.ack(claimed.id, "w", None)
    assert done.completed_at == claimed.started_at
    assert world.stored.jobs[claimed.id] == done
    assert world.faults.calls.count("acknowledge") == 2


def test_a_clock_that_is_behind_lets_nobody_acknowledge_for_another(world: World) -> None:
    """The second try insists on all that the first did."""
    pushed(world.backend)
    (claimed,) = fetched(world.backend)
    world.clock.advance(s=-2)
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(claimed.id, "somebody", None)
    assert world.stored.jobs[claimed.id] == claimed


def test_a_unique_job_cancels_no_job_before_that_one_was_enqueued(world: World) -> None:
    """The one that is replaced ends after it began."""
    first = pushed(world.backend, unique=UNIQUE)
    world.clock.advance(s=-2)
    pushed(world.backend, unique=UNIQUE)
    replaced = world.stored.jobs[first.id]
    assert replaced.state is JobState.CANCELLED
    assert replaced.cancelled_at == first.created_at


def test_an_expired_job_cannot_begin_beside_the_one_that_replaced_it(world: World) -> None:
    """UNQ: its end is written down before its key is given away.

    Else a claim that is late, or made by a clock that is behind, finds it available.
    """
    first = pushed(world.backend, unique=UNIQUE, expires_at="+PT5S")
    before = world.clock.now()
    world.clock.advance(s=6)
    pushed(world.backend, unique=UNIQUE)
    assert world.stored.jobs[first.id].state is JobState.DISCARDED
    until = Instant(before + 30_000)
    late = Reservation(worker_id="w", expires_at=until, execution_ends_at=until)
    with pytest.raises(StaleJobError):
        world.store.claim("default", first.id, late, before)


@pytest.mark.parametrize("name", ["scheduled_at", "expires_at"])
def test_a_repeated_push_is_known_although_its_relative_time_moved(world: World, name: str) -> None:
    """A client that got no answer sends the very same bytes, seconds later."""
    first = pushed(world.backend, type="a.b", id=JOB, **{name: "+PT60S"})
    world.clock.advance(s=5)
    again = world.backend.jobs.push(of({name: "+PT60S"}))
    assert (again.record, again.is_new) == (first, False)
    for other in (of({name: "+PT61S"}), of({name: "+PT60S"}, 2), of({})):
        with pytest.raises(DuplicateError):
            world.backend.jobs.push(other)


@pytest.mark.parametrize("action", [BulkAction.CANCEL, BulkAction.RETRY])
def test_jobs_changed_together_never_change_before_their_last_change(
    world: World, action: BulkAction
) -> None:
    """All of them by a process whose clock is behind."""
    error = parse_object('{"type": "Broken", "message": "it broke"}')
    ids = [pushed(world.backend, retry={"max_attempts": 3}).id for _ in range(2)]
    if action is BulkAction.RETRY:
        for job in world.backend.jobs.fetch(FetchRequest(("default",), 2, "w")):
            world.backend.jobs.fail(job.id, "w", error)
    world.clock.advance(s=-2)
    changed = world.backend.bulk.changes.named(action, ids, is_atomic=True)
    assert {each.status for each in changed.outcomes} == {BulkStatus.DONE}
    for job in world.stored.jobs.values():
        began = job.created_at if action is BulkAction.CANCEL else job.failures[-1].occurred_at
        ended = job.cancelled_at if action is BulkAction.CANCEL else job.enqueued_at
        assert ended is not None
        assert ended >= began
