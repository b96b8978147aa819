"""What the head of a queue says of a job that only a message names."""

from __future__ import annotations

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Head, ListedJob, Page
from ojs_aws.domain.jobs.ready_keys import ready_sort_key
from ojs_aws.domain.queues import Message
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import (
    INDEX_LAG_MS,
    Candidate,
    QueueSnapshot,
    named_by,
)

NOW = Instant(1_760_000_000_000)


def sort_key(priority: int, ago_ms: int) -> str:
    """The sort key of a job that became available so long ago."""
    return ready_sort_key(priority, (NOW - ago_ms) * 1000)


def row(sort_key: str) -> ListedJob:
    return ListedJob(
        id="listed",
        queue="q",
        sort_key=sort_key,
        state=JobState.AVAILABLE,
        type="a",
        timeout_ms=None,
        visibility_timeout_ms=None,
    )


def named(priority: int, ago_ms: int) -> Candidate:
    return named_by(Message("named", sort_key(priority, ago_ms)))


def a_look(*sort_keys: str, is_partial: bool = False) -> QueueSnapshot:
    return QueueSnapshot(Head(tuple(map(row, sort_keys))), Page(()), is_partial=is_partial)


@pytest.mark.parametrize(
    ("priority", "ago_ms", "expected"),
    [
        (5, 9_001, True),
        (5, 7_500, True),
        (5, 7_000, False),
        (5, 6_999, False),
        (4, 9_001, False),
        (9, INDEX_LAG_MS + 1, True),
        (9, INDEX_LAG_MS, False),
        (9, 0, False),
    ],
)
def test_a_job_the_head_no_longer_shows_is_gone_once_the_index_must_know(
    priority: int, ago_ms: int, expected: bool
) -> None:
    """A job of the head's priority at once; a more urgent one may not be listed yet."""
    look = a_look(sort_key(5, 9_000), sort_key(5, 7_000))
    assert look.has_passed(named(priority, ago_ms), NOW) is expected


def test_a_job_as_new_as_the_head_and_of_its_priority_is_gone_at_once() -> None:
    look = a_look(sort_key(5, 10), sort_key(5, 0))
    assert look.has_passed(named(5, 5), NOW)


def test_an_empty_head_says_of_no_job_that_it_is_gone() -> None:
    assert not a_look().has_passed(named(0, 60_000), NOW)


@pytest.mark.parametrize(
    ("priority", "expected"), [(4, True), (5, False), (6, False), (None, True)]
)
def test_more_urgent_jobs_may_be_behind_a_head_that_is_not_the_whole_line(
    priority: int | None, expected: bool
) -> None:
    """Than those of a lower priority than its last row; equal ones come later in line."""
    candidate = None if priority is None else named(priority, 0)
    assert a_look(sort_key(5, 9_000), is_partial=True).may_hide(candidate) is expected
    assert not a_look(sort_key(5, 9_000)).may_hide(candidate)
