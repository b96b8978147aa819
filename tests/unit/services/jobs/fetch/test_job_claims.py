"""Single claims of a round: with which message, for how long, and what a lost one means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.job import JobRecord, JobState, StoredElsewhere
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import Candidate, ready_job
from ojs_aws.services.jobs.fetch.job_claims import MAX_CLAIMED_BYTES
from ojs_aws.services.stored_jobs.change import PATIENCE_MS
from tests.contract.test_job_store import NOW, a_job
from tests.unit.services.jobs.fetch.scripted import (
    LENGTH_MS,
    Jobs,
    claims_of,
    message,
    some_jobs,
    taken,
)


def reservation_of(job: JobRecord, *hands: Any, **terms: Any) -> Any:
    """Claim a job; its reservation."""
    table = Jobs()
    table.add(job)
    claims = claims_of(table, *hands, **terms)
    claims.claim(ready_job(job))
    (claimed,) = claims.claimed
    return claimed.reservation


def test_a_job_is_claimed_with_its_own_message_else_with_the_last_in_line() -> None:
    """So that those before it in line keep theirs."""
    first, job, last = some_jobs(3)
    hands = [message(first), message(last), message(job)]
    assert reservation_of(job, *hands).message_handle == f"handle of {job.id}"
    assert reservation_of(job, *hands[:2]).message_handle == f"handle of {last.id}"
    assert reservation_of(job, *hands[1::-1]).message_handle == f"handle of {last.id}"
    assert reservation_of(job).message_handle == ""


@pytest.mark.parametrize(
    ("own", "fetched", "expected"),
    [
        (None, LENGTH_MS, None),
        (None, 5_000, 5_000),
        (9_000, 5_000, None),
        (9_000, LENGTH_MS, None),
    ],
)
def test_a_reservation_stores_a_length_that_nothing_else_says(
    own: int | None, fetched: int, expected: int | None
) -> None:
    job = a_job(visibility_timeout_ms=own)
    assert reservation_of(job, visibility_timeout_ms=fetched).length_ms == expected


@pytest.mark.parametrize(
    ("listed_ms", "expected"),
    [
        (None, None),
        (LENGTH_MS - 1, NOW + LENGTH_MS - 1),
        (LENGTH_MS, None),
        (LENGTH_MS + 1, None),
    ],
)
def test_a_job_is_listed_earlier_than_it_is_due_or_when_it_is(
    listed_ms: int | None, expected: int | None
) -> None:
    assert reservation_of(a_job(), listed_ms=listed_ms).listed_at == expected


@pytest.mark.parametrize(("received_for_s", "hidden"), [(30, {}), (29, {"h": 30}), (31, {"h": 30})])
def test_a_message_is_hidden_unless_it_returns_as_the_reservation_ends(
    received_for_s: int, hidden: dict[str, int]
) -> None:
    table, job = Jobs(), a_job()
    table.add(job)
    hand = replace(message(job), handle="h")
    claims_of(table, hand, message_visibility_s=received_for_s).claim(ready_job(job))
    assert table.hidden == hidden


LIMITED = a_job(limit=Limit(key="api", concurrency=1))


@pytest.mark.parametrize(
    ("current", "is_claimed"),
    [
        (LIMITED, True),
        (replace(LIMITED, expires_at=Instant(NOW + 1)), True),
        (replace(LIMITED, expires_at=NOW), False),
        (taken(LIMITED), False),
        (replace(LIMITED, queue="other"), False),
        (replace(LIMITED, activated_at=Instant(NOW + 1)), False),
        (None, False),
    ],
)
def test_a_job_with_a_limit_is_claimed_as_it_was_read_or_not_at_all(
    current: JobRecord | None, is_claimed: bool
) -> None:
    """Available in this queue, not expired at this instant, and not changed after it."""
    table = Jobs()
    if current is not None:
        table.add(current)
    claims = claims_of(table)
    claims.claim(ready_job(LIMITED))
    assert [job.id for job in claims.claimed] == ([LIMITED.id] if is_claimed else [])


def lost(current: JobRecord | None, candidate: Candidate, now: Instant = NOW) -> Any:
    """What a round knows after a claim that met this job instead."""
    table = Jobs()
    if current is not None:
        table.add(current)
    claims = claims_of(table, now=now)
    claims.claim(candidate)
    assert not claims.claimed
    return claims


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_listed_job_that_another_took_shows_that_fetches_overlap(is_listed: bool) -> None:
    """A message may name a job that began long ago."""
    claims = lost(taken(a_job()), replace(ready_job(a_job()), is_listed=is_listed))
    assert (claims.lost, claims.is_overtaken) == (is_listed, is_listed)
    assert claims.come_back() == {}


@pytest.mark.parametrize(
    "current", [replace(a_job(order=NOW * 1000 - 5000), queue="other"), taken(a_job()), None]
)
def test_a_job_that_cannot_be_claimed_does_not_come_back(current: JobRecord | None) -> None:
    """It is active, in another queue, or gone."""
    claims = lost(current, ready_job(a_job()))
    assert claims.come_back() == {}
    assert claims.seen == {a_job().id: current}


def test_a_job_that_has_another_place_comes_back_with_it() -> None:
    """The round's time never goes back to when the job came there."""
    moved = replace(a_job(), priority=5)
    claims = lost(moved, ready_job(a_job()), now=Instant(NOW + 500))
    assert claims.come_back() == {moved.id: ready_job(moved)}
    assert claims.now == NOW + 500
    assert claims.come_back() == {}


@pytest.mark.parametrize(("ahead_ms", "comes_back"), [(0, False), (1, True)])
def test_a_job_that_changed_after_the_rounds_time_comes_back_at_its_own(
    ahead_ms: int, comes_back: bool
) -> None:
    """Another process's clock is ahead; else there is another reason that it was refused."""
    current = a_job(activated_at=Instant(NOW + ahead_ms))
    table = Jobs(is_refusing=True)
    table.add(current)
    claims = claims_of(table)
    claims.claim(ready_job(current))
    assert bool(claims.come_back()) is comes_back
    assert claims.now == NOW + ahead_ms


def test_a_round_is_done_with_enough_jobs_no_tries_or_a_full_answer() -> None:
    claims = claims_of(Jobs())
    claims.tries_left = 1
    assert not claims.is_done(1)
    claims.tries_left = 0
    assert claims.is_done(1)
    claims.tries_left = 1
    claims.claimed = [a_job(document=StoredElsewhere("s3", "d", MAX_CLAIMED_BYTES - 1))]
    assert not claims.is_done(2)
    assert claims.is_done(1)
    claims.claimed = [a_job(document=StoredElsewhere("s3", "d", MAX_CLAIMED_BYTES))]
    assert claims.is_done(2)


@pytest.mark.parametrize(("took_ms", "goes_on"), [(PATIENCE_MS, True), (PATIENCE_MS + 1, False)])
def test_a_round_passes_a_job_over_while_it_has_patience(took_ms: int, goes_on: bool) -> None:
    table = Jobs()
    claims = claims_of(table)
    table.clock.advance(ms=took_ms)
    broken: Any = None
    table.claim = broken  # type: ignore[method-assign]
    if goes_on:
        claims.claim(ready_job(a_job()))
    else:
        with pytest.raises(TypeError):
            claims.claim(ready_job(a_job()))
    assert claims.errors.ids == {a_job().id}


@pytest.mark.parametrize(
    "job", [taken(a_job()), a_job(queue="other"), a_job(state=JobState.PENDING)]
)
def test_only_available_jobs_of_the_queue_are_candidates(job: JobRecord) -> None:
    claims = claims_of(Jobs())
    assert claims.note(job) is None
    assert claims.note(a_job()) == ready_job(a_job())
