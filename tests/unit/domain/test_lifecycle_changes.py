"""Each transition changes these attributes of a job, and no other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Final

import pytest

from ojs_aws.domain import lifecycle
from ojs_aws.domain.job import Checkpoint, JobRecord, JobState, Replay
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.retry import RetryPolicy
from ojs_aws.domain.timestamps import Instant
from tests.unit.domain.test_lifecycle import START, a_job, broken, reserved

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
        used(S.DISCARDED, next_attempt_at=None, expires_at=NOW),
        lambda job: lifecycle.retry_discarded(job, NOW, ORDER),
        AVAILABLE
        | {
            "attempt": 0,
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
        lambda job: lifecycle.settle_once(job, NOW),
        AVAILABLE | {"order": NOW * 1000, "next_attempt_at": None},
    ),
    "expired": (
        used(S.RETRYABLE, next_attempt_at=LATER, expires_at=NOW),
        lambda job: lifecycle.settle_once(job, NOW),
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
    found = changed(before, lifecycle.settle_once(before, Instant(START + 30_000)))
    (_, failure) = found.pop("failures")
    assert failure.type == lifecycle.VISIBILITY_TIMEOUT
    assert found == {
        "state": S.AVAILABLE,
        "enqueued_at": START + 30_000,
        "order": (START + 30_000) * 1000,
        "started_at": None,
        "reservation": None,
    }


def test_nothing_is_due_of_an_active_job_without_a_reservation() -> None:
    """Which no write makes, but a damaged item may be."""
    assert lifecycle.next_due(a_job(S.ACTIVE)) is None
