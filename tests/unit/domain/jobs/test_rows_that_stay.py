"""Which rows of the waiting list stay where they are when a reservation is extended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs import held_job
from ojs_aws.domain.jobs.held_job import ASSUMED_SILENCE_MS
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
