"""Each transition changes these attributes of a job, and no other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Final

import pytest

from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import Checkpoint, JobRecord, JobState, Replay
from ojs_aws.domain.jobs import deadlines, held_job, lifecycle
from ojs_aws.domain.jobs.progress import Progress
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.retry import Exhaustion, RetryPolicy
from ojs_aws.domain.timestamps import Instant
from tests.unit.domain.jobs.test_lifecycle import START, a_job, broken, reserved

S = JobState
NOW: Final = Instant(START + 1000)
LATER: Final = Instant(START + 90_000)
ORDER: Final = START * 1000 + 7
FAILED: Final = broken(START, attempt=3)


def used(state: JobState, **changes: Any) -> JobRecord:
    """A job that has been through a lot: every attribute that a transition may clear is set."""
    job = a_job(
        state,
        attempt=3,
        enqueued_at=Instant(START),
        started_at=Instant(START),
        completed_at=Instant(START),
        discarded_at=Instant(START),
        next_attempt_at=Instant(START + 500),
        scheduled_at=Instant(START + 500),
        retry_delay_ms=500,
        retry=RetryPolicy(max_attempts=9, initial_interval_ms=500, jitter=False),
        failures=(broken(START, attempt=2),),
        past_failures=(broken(START),),
        is_dead_letter=True,
        replay=Replay(count=1, at=Instant(START), rule="r"),
        checkpoint=Checkpoint(state=RawJson("1"), sequence=1, created_at=Instant(START)),
        reservation=reserved(START) if state is S.ACTIVE else None,
    )
    return replace(job, **changes)


def changed(before: JobRecord, after: JobRecord | None) -> dict[str, Any]:
    """The attributes that differ, less the version, which each transition counts."""
    assert after is not None
    assert after.version == before.version + 1
    names = {field.name for field in fields(JobRecord)} - {"version"}
    values = {name: getattr(after, name) for name in names}
    return {name: value for name, value in values.items() if value != getattr(before, name)}


HELD: Final = reserved(NOW)
PROGRESS: Final = Progress(attempt=3, updated_at=NOW, fraction=0.5)
RECORDED: Final = (broken(START, attempt=2), FAILED)
AVAILABLE: Final = {"state": S.AVAILABLE, "enqueued_at": NOW}

CASES: Final[dict[str, tuple[JobRecord, Callable[[JobRecord], JobRecord | None], Any]]] = {
    "claim": (
        used(S.AVAILABLE),
        lambda job: lifecycle.claim(job, HELD, NOW),
        {"state": S.ACTIVE, "attempt": 4, "started_at": NOW, "reservation": HELD},
    ),
    "drop": (
        used(S.AVAILABLE),
        lambda job: lifecycle.drop(job, NOW),
        {
            "state": S.DISCARDED,
            "discarded_at": NOW,
            "next_attempt_at": None,
            "checkpoint": None,
        },
    ),
    "reschedule": (
        used(S.AVAILABLE),
        lambda job: lifecycle.reschedule(job, LATER, NOW),
        {"state": S.SCHEDULED, "scheduled_at": LATER, "enqueued_at": NOW},
    ),
    "complete": (
        used(S.ACTIVE),
        lambda job: lifecycle.complete(job, RawJson("2"), NOW),
        {
            "state": S.COMPLETED,
            "completed_at": NOW,
            "result": "2",
            "reservation": None,
            "checkpoint": None,
        },
    ),
    "fail": (
        used(S.ACTIVE, retry_delay_ms=None),
        lambda job: lifecycle.fail(job, FAILED, NOW),
        {
            "state": S.RETRYABLE,
            "failures": RECORDED,
            "next_attempt_at": NOW + 2000,
            "retry_delay_ms": 2000,
            "reservation": None,
        },
    ),
    "fail for the last time": (
        used(S.ACTIVE, is_dead_letter=False, retry=RetryPolicy(max_attempts=3)),
        lambda job: lifecycle.fail(job, FAILED, NOW),
        {
            "state": S.DISCARDED,
            "failures": RECORDED,
            "completed_at": NOW,
            "discarded_at": NOW,
            "reservation": None,
            "checkpoint": None,
        },
    ),
    "requeue": (
        used(S.ACTIVE),
        lambda job: lifecycle.requeue(job, FAILED, NOW),
        AVAILABLE
        | {
            "order": NOW * 1000,
            "failures": RECORDED,
            "started_at": None,
            "reservation": None,
            "uncounted_attempts": 1,
        },
    ),
    "fail with a delay of its own": (
        used(S.ACTIVE, retry_delay_ms=None),
        lambda job: lifecycle.fail(job, FAILED, NOW, 90_000),
        {
            "state": S.RETRYABLE,
            "failures": RECORDED,
            "next_attempt_at": NOW + 90_000,
            "retry_delay_ms": 90_000,
            "reservation": None,
        },
    ),
    "snooze": (
        used(S.ACTIVE, retry_delay_ms=None, retry=RetryPolicy(max_attempts=1)),
        lambda job: lifecycle.snooze(job, FAILED, 90_000, NOW),
        {
            "state": S.RETRYABLE,
            "failures": RECORDED,
            "next_attempt_at": NOW + 90_000,
            "retry_delay_ms": 90_000,
            "reservation": None,
            "uncounted_attempts": 1,
        },
    ),
    "cancel": (
        used(S.ACTIVE),
        lambda job: lifecycle.cancel(job, NOW),
        {
            "state": S.CANCELLED,
            "cancelled_at": NOW,
            "next_attempt_at": None,
            "reservation": None,
            "checkpoint": None,
        },
    ),
    "activate": (
        used(S.PENDING),
        lambda job: lifecycle.activate(job, NOW, ORDER),
        AVAILABLE | {"activated_at": NOW, "order": ORDER},
    ),
    "retry of a discarded job": (
        used(S.DISCARDED, next_attempt_at=None, expires_at=NOW, uncounted_attempts=2),
        lambda job: lifecycle.retry_discarded(job, NOW, ORDER),
        AVAILABLE
        | {
            "attempt": 0,
            "uncounted_attempts": 0,
            "order": ORDER,
            "started_at": None,
            "completed_at": None,
            "discarded_at": None,
            "retry_delay_ms": None,
            "expires_at": None,
            "failures": (),
            "past_failures": (broken(START), broken(START, attempt=2)),
            "is_dead_letter": False,
            "replay": None,
        },
    ),
    "retry at once": (
        used(S.RETRYABLE),
        lambda job: lifecycle.retry_now(job, NOW, ORDER),
        AVAILABLE | {"order": ORDER, "next_attempt_at": None},
    ),
    "backoff over": (
        used(S.RETRYABLE, next_attempt_at=NOW),
        lambda job: deadlines.settle_once(job, NOW),
        AVAILABLE | {"order": NOW * 1000, "next_attempt_at": None},
    ),
    "expired": (
        used(S.RETRYABLE, next_attempt_at=LATER, expires_at=NOW),
        lambda job: deadlines.settle_once(job, NOW),
        {"state": S.DISCARDED, "discarded_at": NOW, "next_attempt_at": None, "checkpoint": None},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_transition_changes_what_it_says_and_nothing_else(name: str) -> None:
    """Core, section 6.3: from a job of which every attribute is set."""
    before, transition, expected = CASES[name]
    assert changed(before, transition(before)) == expected


def test_an_attempt_whose_worker_was_lost_leaves_the_job_as_new() -> None:
    """Worker protocol, 5.5: available at once, at the instant the reservation ended."""
    before = used(S.ACTIVE)
    found = changed(before, deadlines.settle_once(before, Instant(START + 30_000)))
    (_, failure) = found.pop("failures")
    assert failure.type == deadlines.VISIBILITY_TIMEOUT
    assert found == {
        "state": S.AVAILABLE,
        "enqueued_at": START + 30_000,
        "order": (START + 30_000) * 1000,
        "started_at": None,
        "reservation": None,
    }


def test_nothing_is_due_of_an_active_job_without_a_reservation() -> None:
    """Which no write makes, but a damaged item may be."""
    assert deadlines.next_due(a_job(S.ACTIVE)) is None


def test_an_attempt_without_a_start_lasted_no_time() -> None:
    """As items have it that were written before starts were kept."""
    before = used(S.ACTIVE, started_at=None)
    after = deadlines.settle_once(before, Instant(START + 30_000))
    assert after is not None
    assert after.failures[-1].extra["elapsed_seconds"] == "0"


GUARDED: Final[dict[str, tuple[JobState, Callable[[JobRecord], JobRecord]]]] = {
    "drop": (S.AVAILABLE, lambda job: lifecycle.drop(job, NOW)),
    "reschedule": (S.AVAILABLE, lambda job: lifecycle.reschedule(job, LATER, NOW)),
    "requeue": (S.ACTIVE, lambda job: lifecycle.requeue(job, None, NOW)),
    "snooze": (S.ACTIVE, lambda job: lifecycle.snooze(job, FAILED, 1, NOW)),
    "report progress": (
        S.ACTIVE,
        lambda job: held_job.report_progress(job, PROGRESS, LATER, LATER),
    ),
    "retry at once": (S.RETRYABLE, lambda job: lifecycle.retry_now(job, NOW, ORDER)),
}


@pytest.mark.parametrize("name", GUARDED)
def test_a_job_in_another_state_is_refused(name: str) -> None:
    """And learns in which state it is."""
    wanted, transition = GUARDED[name]
    transition(used(wanted))
    for state in set(S) - {wanted}:
        with pytest.raises(ConflictError) as refused:
            transition(used(state))
        assert refused.value.details["current_state"] == state


def test_a_job_given_back_without_a_reason_has_no_failure() -> None:
    """And differs from one that failed, or is new."""
    before = used(S.ACTIVE)
    after = lifecycle.requeue(before, None, NOW)
    assert after.failures == before.failures
    assert lifecycle.is_requeue(before, after)
    assert not lifecycle.is_requeue(before, lifecycle.fail(before, FAILED, NOW))
    assert not lifecycle.is_requeue(None, after)


@pytest.mark.parametrize(("alive", "expected"), [(None, None), (Instant(START + 5), LATER)])
def test_progress_extends_as_a_heartbeat_does(
    alive: Instant | None, expected: Instant | None
) -> None:
    """Who is not known to beat is not expected to."""
    held = replace(reserved(START), alive_until=alive)
    before = used(S.ACTIVE, reservation=held)
    after = held_job.report_progress(before, PROGRESS, LATER, LATER)
    assert changed(before, after) == {
        "progress": PROGRESS,
        "reservation": replace(held, expires_at=LATER, alive_until=expected),
    }
    without = used(S.ACTIVE, reservation=None)
    reported = held_job.report_progress(without, PROGRESS, LATER, LATER)
    assert changed(without, reported) == {"progress": PROGRESS}


def test_a_checkpoint_is_cleared_once() -> None:
    """A job that has none is left as it is."""
    before = used(S.ACTIVE)
    after = held_job.clear_checkpoint(before)
    assert changed(before, after) == {"checkpoint": None}
    assert held_job.clear_checkpoint(after) is after


@pytest.mark.parametrize("state", S)
def test_the_priority_changes_of_what_waits_to_begin(state: JobState) -> None:
    """ojs-priority, section 8.1; the priority that it has changes nothing."""
    before = used(state)
    if state not in {S.AVAILABLE, S.SCHEDULED, S.PENDING}:
        with pytest.raises(ConflictError):
            lifecycle.reprioritise(before, 7)
        return
    assert changed(before, lifecycle.reprioritise(before, 7)) == {"priority": 7}
    assert lifecycle.reprioritise(before, before.priority) is before


def test_replays_are_counted() -> None:
    """From the first one on."""
    for replay, count in ((None, 1), (Replay(count=4, at=NOW, rule="old"), 5)):
        after = lifecycle.replay_discarded(used(S.DISCARDED, replay=replay), "r", NOW, ORDER)
        assert after.replay == Replay(count=count, at=NOW, rule="r")


def test_a_wait_begins_when_the_job_came_into_its_state() -> None:
    """Created, enqueued last, or failed; what is not due at any time does not wait."""
    due = Instant(START + 900)
    waiting = a_job(S.SCHEDULED, scheduled_at=due)
    assert deadlines.wait_ms(waiting) == 900
    assert deadlines.wait_ms(replace(waiting, enqueued_at=Instant(START + 100))) == 800
    assert deadlines.wait_ms(replace(waiting, failures=(broken(START + 200),))) == 700
    assert deadlines.wait_ms(a_job(S.RETRYABLE)) == 0
    assert deadlines.wait_ms(a_job(S.AVAILABLE, expires_at=due)) == 0


def test_a_dead_letter_keeps_its_checkpoint() -> None:
    """ojs-durable-execution, section 6.3: it may be enqueued again."""
    before = used(S.ACTIVE, retry=RetryPolicy(max_attempts=3, on_exhaustion=Exhaustion.DEAD_LETTER))
    after = lifecycle.fail(before, FAILED, NOW)
    assert (after.is_dead_letter, after.checkpoint) == (True, before.checkpoint)


def test_a_timeout_names_its_limit_and_how_long_the_attempt_ran() -> None:
    """The two differ where the deadline that was kept is not the job's timeout."""
    held = replace(reserved(START), execution_ends_at=Instant(START + 9_000))
    job = used(S.ACTIVE, timeout_ms=7_000, reservation=held)
    after = deadlines.settle_once(job, Instant(START + 9_000))
    assert after is not None
    extra = after.failures[-1].extra
    assert (extra["limit_seconds"], extra["elapsed_seconds"]) == ("7", "9")
