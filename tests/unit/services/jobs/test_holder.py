"""Reports of an attempt that is over: repeated by a client that lost the answer, or just late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.held_job import AttemptRef, Holder, attempt_of
from ojs_aws.domain.jobs.progress import ProgressReport
from ojs_aws.domain.json_text import RawJson, parse_object
from ojs_aws.domain.workers import WorkerReport
from tests.contract.test_job_store import a_job, a_reservation
from tests.job_steps import fetched, pushed
from tests.simulation.world import World
from tests.unit.services.test_flow import ERROR, fail

WORKER = "w1"


def by_retry(world: World, job: JobRecord) -> None:
    """The attempt failed, and its backoff is over."""
    fail(world, job)
    world.clock.advance(s=60)


def by_reservation_end(world: World, job: JobRecord) -> None:
    """The attempt's reservation ended."""
    held = job.reservation
    assert held is not None
    world.clock.at = held.due_at


def by_manual_retry(world: World, job: JobRecord) -> None:
    """An operator retried the discarded job, whose attempts are counted from 0 again."""
    world.backend.jobs.fail(job.id, WORKER, parse_object('{"message": "no", "retryable": false}'))
    world.backend.dead_letters.service.retry(job.id)


AGAIN = [by_retry, by_reservation_end, by_manual_retry]

Again = Callable[[World, JobRecord], None]


def twice_claimed(world: World, again: Again) -> tuple[JobRecord, JobRecord]:
    """A job that the same worker has claimed twice: the claim that is over, and the running one."""
    pushed(world.backend, retry={"max_attempts": 3, "on_exhaustion": "dead_letter"})
    (first,) = fetched(world.backend, worker_id="w1", visibility_timeout_ms=30_000)
    again(world, first)
    (second,) = fetched(world.backend, worker_id="w1")
    assert second.id == first.id
    return first, second


@pytest.mark.parametrize("again", AGAIN)
def test_a_repeated_fail_does_not_end_the_next_attempt(world: World, again: Again) -> None:
    """Its answer was lost, and the worker resends it when it holds the job again."""
    first, second = twice_claimed(world, again)
    with pytest.raises(ConflictError) as refused:
        world.backend.jobs.fail(first.id, WORKER, ERROR, which=attempt_of(first))
    assert refused.value.details["current_state"] == "active"
    assert refused.value.details["current_attempt"] == second.attempt
    assert world.stored.jobs[first.id] == second
    done = world.backend.jobs.ack(second.id, WORKER, None, which=attempt_of(second))
    assert done.state is JobState.COMPLETED


@pytest.mark.parametrize("again", AGAIN)
def test_a_late_ack_does_not_complete_the_next_attempt(world: World, again: Again) -> None:
    """With a result or without one, small or large; nothing is stored for it."""
    first, second = twice_claimed(world, again)
    for result in (None, RawJson("1"), RawJson('"' + "x" * 200_000 + '"')):
        with pytest.raises(ConflictError):
            world.backend.jobs.ack(first.id, WORKER, result, which=attempt_of(first))
    assert world.stored.jobs[first.id] == second


@pytest.mark.parametrize("again", AGAIN)
def test_a_late_beat_does_not_extend_the_next_attempt(world: World, again: Again) -> None:
    """The job is lost for the attempt that beats."""
    first, second = twice_claimed(world, again)
    other = pushed(world.backend)
    fetched(world.backend, worker_id="w1")
    world.clock.advance(s=1)
    named = {first.id: attempt_of(first)}
    beat = world.backend.workers.heartbeat(
        WORKER, [first.id, other.id], None, WorkerReport(), attempts=named
    )
    assert (beat.lost, beat.extended) == ((first.id,), (other.id,))
    assert world.stored.jobs[first.id] == second
    beat = world.backend.workers.heartbeat(
        WORKER, [first.id], attempts={first.id: attempt_of(second)}
    )
    assert beat.extended == (first.id,)


@pytest.mark.parametrize("again", AGAIN)
def test_late_progress_is_ignored_and_a_late_checkpoint_refused(world: World, again: Again) -> None:
    """PRG-007 says so of progress; a checkpoint would mislead the next attempt."""
    first, second = twice_claimed(world, again)
    report, late = ProgressReport(fraction=0.5), attempt_of(first)
    noted = world.backend.outcomes.progress(first.id, WORKER, report, RawJson("1"), which=late)
    assert noted == (second, False)
    with pytest.raises(ConflictError):
        world.backend.outcomes.checkpoints.save(first.id, WORKER, RawJson("1"), which=late)
    assert world.stored.jobs[first.id] == second
    saved = world.backend.outcomes.checkpoints.save(
        first.id, WORKER, RawJson("2"), which=attempt_of(second)
    )
    assert saved.checkpoint.state == "2"


@pytest.mark.parametrize("again", [by_retry, by_reservation_end])
def test_the_number_of_an_attempt_alone_is_checked_too(world: World, again: Again) -> None:
    """For clients that know no reservation ids."""
    first, second = twice_claimed(world, again)
    with pytest.raises(ConflictError):
        world.backend.jobs.fail(first.id, None, ERROR, which=AttemptRef(attempt=1))
    with pytest.raises(ConflictError):
        world.backend.jobs.ack(first.id, None, None, which=AttemptRef(attempt=1))
    assert world.stored.jobs[first.id] == second
    done = world.backend.jobs.ack(first.id, None, None, which=AttemptRef(attempt=2))
    assert done.state is JobState.COMPLETED


def test_each_claim_has_a_reservation_id_of_its_own(world: World) -> None:
    """The numbers of attempts come again after an operator's retry; these never do."""
    first, second = twice_claimed(world, by_manual_retry)
    assert (first.attempt, second.attempt) == (1, 1)
    assert first.reservation is not None
    assert second.reservation is not None
    assert first.reservation.id
    assert first.reservation.id != second.reservation.id


def test_a_report_that_says_nothing_of_its_attempt_is_not_checked(world: World) -> None:
    """As official clients send it: the worker and the job's state decide."""
    first, _ = twice_claimed(world, by_retry)
    assert world.backend.jobs.ack(first.id, WORKER, None).state is JobState.COMPLETED


@pytest.mark.parametrize(
    ("reserved_for", "reporting", "holds"),
    [("w1", "w1", True), ("w1", "w2", False), ("w1", None, True), ("", "w2", True)],
)
def test_a_worker_holds_what_is_reserved_for_it_or_for_nobody(
    reserved_for: str, reporting: str | None, holds: bool
) -> None:
    """A report without a name is judged by the job alone."""
    job = a_job(state=JobState.ACTIVE, attempt=1, reservation=a_reservation(reserved_for))
    holder = Holder(reporting)
    assert holder.holds(job) is holds
    assert not replace(holder, which=AttemptRef(attempt=2)).holds(job)


def test_a_refusal_says_whether_worker_or_attempt_is_another_one() -> None:
    job = a_job(state=JobState.ACTIVE, attempt=1, reservation=a_reservation("w1"))
    other = Holder("w2", AttemptRef(attempt=1)).refusal(job, "fail")
    assert "reserved by another worker" in other.message
    late = Holder("w1", AttemptRef(attempt=9)).refusal(job, "fail")
    assert "an attempt that is over" in late.message
