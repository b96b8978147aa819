"""Which rows of the waiting list stay where they are when a reservation is extended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs import held_job
from ojs_aws.domain.jobs.held_job import (
    ANY_ATTEMPT,
    ASSUMED_SILENCE_MS,
    AttemptRef,
    Extension,
    attempt_of,
)
from ojs_aws.domain.timestamps import Instant
from tests.contract.test_job_store import NOW, a_job, a_reservation

LENGTH_MS = 300_000
ENDS = Instant(NOW + LENGTH_MS)


@pytest.mark.parametrize(
    ("listed_at", "after_ms", "stays"),
    [
        (None, 100_000, True),
        (None, 270_000, False),
        (Instant(NOW + ASSUMED_SILENCE_MS), 20_000, True),
        (Instant(NOW + ASSUMED_SILENCE_MS), 40_000, False),
    ],
)
def test_a_row_stays_if_two_fifths_of_the_extension_lie_before_it(
    listed_at: Instant | None, after_ms: int, stays: bool
) -> None:
    """At the end of the reservation, or early, where FETCH put it for a worker that may beat."""
    held = replace(
        a_reservation(),
        expires_at=ENDS,
        execution_ends_at=Instant(NOW + 10 * LENGTH_MS),
        listed_at=listed_at,
    )
    job = a_job(state=JobState.ACTIVE, attempt=1, reservation=held)
    now = Instant(NOW + after_ms)
    after = held_job.extend(job, Instant(now + LENGTH_MS), now=now).reservation
    assert after is not None
    assert after.expires_at == now + LENGTH_MS
    assert after.listed_at == ((listed_at or ENDS) if stays else None)


def test_a_worker_whose_pace_is_known_has_its_row_where_it_counts_as_dead() -> None:
    """Three minutes: the early place of a worker that may beat is too early for its row."""
    early = Instant(NOW + ASSUMED_SILENCE_MS)
    held = replace(
        a_reservation(),
        expires_at=ENDS,
        execution_ends_at=Instant(NOW + 10 * LENGTH_MS),
        listed_at=early,
    )
    job = a_job(state=JobState.ACTIVE, attempt=1, reservation=held)
    now = Instant(NOW + 20_000)
    alive = Instant(now + 4 * ASSUMED_SILENCE_MS)
    after = held_job.extend(job, Instant(now + LENGTH_MS), alive, now=now).reservation
    assert after is not None
    assert (after.due_at, after.listed_at) == (alive, None)


def test_an_extension_to_the_same_end_leaves_the_job_and_its_row() -> None:
    """Nothing is written, although the row is too early to stay with a later end."""
    held = replace(a_reservation(), expires_at=ENDS, execution_ends_at=ENDS, listed_at=NOW)
    job = a_job(state=JobState.ACTIVE, attempt=1, reservation=held)
    for ends in (ENDS, Instant(ENDS - 1)):
        assert held_job.extend(job, ends, now=Instant(NOW + 100_000)) is job


def test_a_job_that_is_listed_when_it_is_due_stays_as_it_is() -> None:
    waiting = a_job()
    active = a_job(state=JobState.ACTIVE, reservation=replace(a_reservation(), expires_at=ENDS))
    assert held_job.list_when_due(waiting) is waiting
    assert held_job.list_when_due(active) is active


@pytest.mark.parametrize(("silence_ms", "known_ms"), [(4, 4), (None, 1)])
def test_a_row_stays_by_the_pace_of_the_worker_or_one_that_is_assumed(
    silence_ms: int | None, known_ms: int
) -> None:
    """In units of the silence that is assumed of a worker whose pace nobody knows."""
    alive = None if silence_ms is None else Instant(NOW + silence_ms * ASSUMED_SILENCE_MS)
    asked = Extension(worker_id="w", now=NOW, alive_until=alive, expires_at=Instant(NOW + 10**6))
    due = Instant(NOW + known_ms * ASSUMED_SILENCE_MS)
    assert asked.earliest_row == held_job.earliest_row(NOW, due)


@pytest.mark.parametrize("moves_row", [True, False])
def test_an_execution_must_last_until_the_job_is_due(*, moves_row: bool) -> None:
    """Or only be running, where a row stays that came before its end already."""
    alive = Instant(NOW + ASSUMED_SILENCE_MS)
    asked = Extension(worker_id="w", now=NOW, alive_until=alive, moves_row=moves_row)
    assert asked.runs_until == alive
    unpaced = replace(asked, alive_until=None, expires_at=ENDS)
    assert unpaced.runs_until == (ENDS if moves_row else NOW + 1)


def test_a_job_that_nobody_holds_has_no_attempt_that_runs() -> None:
    """Its reservation ended, or an earlier version gave it no id."""
    assert not ANY_ATTEMPT.is_running(a_job())
    assert attempt_of(a_job(attempt=2)) == AttemptRef(attempt=2)
    nameless = a_job(state=JobState.ACTIVE, attempt=2, reservation=a_reservation())
    assert attempt_of(nameless) == AttemptRef(attempt=2)
    assert ANY_ATTEMPT.is_running(nameless)


def test_a_job_that_was_not_fetched_has_its_own_length_or_the_default() -> None:
    assert held_job.length_of(a_job(), 7) == 7
    assert held_job.length_of(a_job(visibility_timeout_ms=5), 7) == 5


@pytest.mark.parametrize(
    ("named", "is_running"),
    [
        (ANY_ATTEMPT, True),
        (AttemptRef(reservation_id="r-2"), True),
        (AttemptRef(reservation_id="r-1"), False),
        (AttemptRef(attempt=2), True),
        (AttemptRef(attempt=1), False),
        (AttemptRef(reservation_id="r-2", attempt=1), False),
        (AttemptRef(reservation_id="r-1", attempt=2), False),
    ],
)
def test_an_attempt_runs_if_all_that_names_it_agrees(
    named: AttemptRef, *, is_running: bool
) -> None:
    held = replace(a_reservation(), id="r-2")
    job = a_job(state=JobState.ACTIVE, attempt=2, reservation=held)
    assert named.is_running(job) is is_running
