"""What jobs of a sequence share with all others, and what only one that waits for its turn has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.sequences import Sequences
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.reasons import ReasonCode
from ojs_aws.domain.json_text import parse_object
from ojs_aws.services.bulk import BulkAction, BulkStatus
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.sequences.advance import SequenceStage, follow, sequence_stage
from tests.jobs import any_job
from tests.simulation.world import World

KEY = "order-4711"


@pytest.fixture
def world() -> World:
    """A backend without jobs."""
    return World()


def pushed(world: World, sequence: Any = KEY, **attributes: Any) -> JobRecord:
    """The record of a new job of the sequence."""
    world.clock.advance(ms=5)
    record = world.backend.jobs.push(any_job("a.b", [], sequence=sequence, **attributes)).record
    assert record is not None
    return record


def fetch(world: World) -> list[str]:
    """The jobs that a worker gets."""
    return [job.id for job in world.backend.jobs.fetch(FetchRequest(("default",), 9, "w"))]


def test_a_single_push_takes_its_place_behind_the_others(world: World) -> None:
    """Only the first of them is available."""
    first, second = pushed(world), pushed(world)
    assert (first.state, second.state) == (JobState.AVAILABLE, JobState.PENDING)
    assert [each.sequence.position for each in (first, second) if each.sequence] == [1, 2]
    assert fetch(world) == [first.id]


def test_a_job_that_waits_for_its_turn_is_not_activated(world: World) -> None:
    """Nobody may let it overtake the others."""
    pushed(world)
    second = pushed(world)
    with pytest.raises(ConflictError, match="waits for others of its sequence"):
        world.backend.jobs.activate(second.id)


def test_a_job_that_runs_is_not_said_to_wait_for_its_turn(world: World) -> None:
    """Only one that waits for others is."""
    first, second = pushed(world), pushed(world)
    assert fetch(world) == [first.id]
    codes = {
        job.id: {reason.code for reason in world.backend.jobs.why(job.id).reasons}
        for job in (first, second)
    }
    assert ReasonCode.IN_SEQUENCE not in codes[first.id]
    assert ReasonCode.IN_SEQUENCE in codes[second.id]


def test_jobs_of_a_sequence_are_cancelled_all_or_none(world: World) -> None:
    """What needs its turn is to enqueue a discarded one again."""
    first, second = pushed(world), pushed(world)
    ids = [first.id, second.id]
    report = world.backend.bulk.changes.named(BulkAction.CANCEL, ids, is_atomic=True)
    assert {each.status for each in report.outcomes} == {BulkStatus.DONE}


def test_stopped_sequences_are_looked_for_where_a_job_was_discarded(world: World) -> None:
    """A deployment without discarded jobs makes no call for them."""
    pushed(world)

    def sequences() -> Sequences:
        raise AssertionError("nobody was to ask")

    assert replace(world.backend.findings, sequences=sequences)().findings is not None


@pytest.mark.parametrize("begins", [True, False])
def test_the_message_of_a_head_is_sent_again_until_it_has_begun(
    world: World, *, begins: bool
) -> None:
    """Who gave it the turn may have died before it sent one."""
    first = pushed(world)
    pushed(world)
    if begins:
        assert fetch(world) == [first.id]
    world.faults.calls.clear()
    assert world.backend.sequence_advance.advance("", KEY)
    assert ("send" in world.faults.calls) is not begins


def test_a_head_that_was_given_back_has_its_message_already(world: World) -> None:
    """It has begun once."""
    first = pushed(world)
    assert fetch(world) == [first.id]
    world.backend.jobs.fail.requeue(first.id, "w", None)
    world.faults.calls.clear()
    assert world.backend.sequence_advance.advance("", KEY)
    assert "send" not in world.faults.calls


def test_blocked_jobs_that_ended_before_are_not_cancelled_with_the_others(world: World) -> None:
    """Only their rows go."""
    choice = {"key": KEY, "on_discard": "cancel"}
    first, second, third = (pushed(world, sequence=choice) for _ in range(3))
    assert fetch(world) == [first.id]
    world.backend.jobs.cancel(second.id)
    error = parse_object('{"type": "boom", "code": "DISCARD", "message": "broken"}')
    world.backend.jobs.fail(first.id, "w", error)
    while not world.backend.sequence_advance.advance("", KEY):
        pass
    states = [world.backend.jobs.info(job.id).state for job in (first, second, third)]
    assert states == [JobState.DISCARDED, JobState.CANCELLED, JobState.CANCELLED]
    assert world.sequences.load("", KEY) is None


@pytest.mark.parametrize(("asks", "states"), [(1, [3, 2, 1, 0, 0, 0]), (2, [2, 0, 0, 0, 0, 0])])
def test_cancelling_many_stops_in_time_and_goes_on(
    world: World, asks: int, states: list[int]
) -> None:
    """Each call makes one step at least, and keeps what it has done."""
    choice = {"key": KEY, "on_discard": "cancel"}
    head, *blocked = [pushed(world, choice) for _ in range(5)]
    fetch(world)
    error = parse_object('{"type": "boom", "code": "DISCARD", "message": "broken"}')
    world.backend.jobs.fail(head.id, "w", error)
    changes = [("1", SequenceStage(tenant=head.tenant, key=KEY))]
    left: list[int] = []
    failed: dict[str, Exception | None] = {}
    for _ in range(6):
        asked = iter([True] * asks)

        def has_time(asked: Iterator[bool] = asked) -> bool:
            return next(asked, False)

        failed = follow(lambda: world.backend.sequence_advance, changes, has_time)
        found = [world.backend.jobs.info(each.id).state for each in blocked]
        left.append(found.count(JobState.PENDING))
    assert left == states
    assert failed == {}


def test_a_blocked_job_that_is_removed_while_it_expires_is_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read before; its row goes, and the next one has its turn."""
    first, _, third = pushed(world), pushed(world, expires_at="+PT1M"), pushed(world)
    assert fetch(world) == [first.id]
    world.backend.jobs.ack(first.id, "w", None)
    world.clock.advance(s=60)
    save = JobStore.save

    def gone(store: JobStore, before: JobRecord, after: JobRecord) -> JobRecord:
        if after.state is JobState.DISCARDED:
            raise StaleJobError(None)
        return save(store, before, after)

    monkeypatch.setattr(JobStore, "save", gone)
    while not world.backend.sequence_advance.advance("", KEY):
        pass
    assert fetch(world) == [third.id]


def test_a_sequence_goes_on_whose_head_expired_where_nobody_fetches(world: World) -> None:
    """Who looks at it finds that its time is over, also if nobody has written that down."""
    head = pushed(world, queue="idle", expires_at="+PT1M")
    second = pushed(world)
    world.clock.advance(s=60)
    assert world.stored.jobs[head.id].state is JobState.AVAILABLE
    assert world.backend.sequence_advance.advance("", KEY)
    assert fetch(world) == [second.id]


def test_a_sequence_may_skip_a_head_whose_time_is_over(world: World) -> None:
    pushed(world, queue="idle", expires_at="+PT1M")
    second = pushed(world)
    world.clock.advance(s=60)
    assert world.backend.sequences.skip("", KEY).sequence.job_id == second.id


def test_a_job_that_expired_in_line_has_its_turn_once_retried(world: World) -> None:
    """It waits for nobody any more: attempts that fail come again, and its end is seen."""
    first, second = pushed(world), pushed(world, expires_at="+PT1M")
    assert fetch(world) == [first.id]
    world.clock.advance(s=60)
    assert world.backend.jobs.info(second.id).state is JobState.DISCARDED
    world.backend.jobs.ack(first.id, "w", None)
    assert world.backend.sequence_advance.advance("", KEY)
    world.backend.dead_letters.service.retry(second.id)
    third = pushed(world)
    assert fetch(world) == [second.id]
    error = parse_object('{"type": "boom", "message": "broken"}')
    world.backend.jobs.fail(second.id, "w", error)
    world.clock.advance(s=60)
    assert fetch(world) == [second.id]
    active = world.stored.jobs[second.id]
    ended = world.backend.jobs.ack(second.id, "w", None)
    stage = sequence_stage(active, ended)
    assert stage is not None
    assert stage.ended is None
    assert world.backend.sequence_advance.advance(stage.tenant, stage.key)
    assert fetch(world) == [third.id]
