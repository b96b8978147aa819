"""Who is next in line: listed jobs, those of messages in hand, and those behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Head, ListedJob, Page
from ojs_aws.domain.limits import LimitRefusal
from ojs_aws.services.jobs.fetch.candidates import QueueSnapshot, ready_job
from ojs_aws.services.jobs.fetch.queue_line import MAX_PAGES_BEYOND, QueueLine
from ojs_aws.services.limits.check import LimitCheck
from tests.contract.test_job_store import NOW, a_job, a_reservation
from tests.unit.services.jobs.fetch.scripted import (
    Jobs,
    claims_of,
    look_at,
    message,
    row_of,
    some_jobs,
)


@pytest.mark.parametrize(
    ("has_sort_key", "count", "types", "reads"),
    [
        (True, 1, frozenset(), 0),
        (False, 1, frozenset(), 1),
        (True, 2, frozenset(), 1),
        (True, 1, frozenset({"type:demo.echo"}), 1),
    ],
)
def test_a_message_that_says_all_of_its_job_saves_a_read(
    has_sort_key: bool, count: int, types: frozenset[str], reads: int
) -> None:
    """It names no type; and one that came back may name a place that the job has left."""
    table, job = Jobs(), a_job()
    table.add(job)
    hand = message(job, count)
    if not has_sort_key:
        hand = replace(hand, message=replace(hand.message, sort_key=""))
    line = QueueLine(claims_of(table, hand, limiting=LimitCheck("default", types)))
    assert [each.id for each in line.first(look_at())] == [job.id]
    assert len(table.reads) == reads


def test_a_listed_job_needs_no_read_though_its_message_came_back() -> None:
    table, job = Jobs(), a_job()
    line = QueueLine(claims_of(table, message(job, count=3)))
    assert [each.id for each in line.first(look_at(job))] == [job.id]
    assert table.reads == []


def test_each_job_that_waited_is_read_once() -> None:
    """Though its message and its row both name it."""
    table = Jobs()
    jobs = some_jobs(2, state=JobState.SCHEDULED, scheduled_at=NOW)
    table.add(*jobs)
    rows = tuple(replace(row_of(job), sort_key=str(NOW)) for job in jobs)
    look = QueueSnapshot(Head(()), Page(rows))
    line = QueueLine(claims_of(table, message(jobs[0])))
    assert {each.id for each in line.first(look)} == {job.id for job in jobs}
    assert table.reads == [tuple(job.id for job in jobs)]


@pytest.mark.parametrize("is_fair", [True, False])
def test_due_jobs_of_a_fair_queue_get_their_places_first(*, is_fair: bool) -> None:
    """Once, though messages name them as well; ready ones, and those of others, need no read."""
    table = Jobs()
    due = a_job(1, state=JobState.SCHEDULED, scheduled_at=NOW)
    ready = a_job(2)
    table.add(due, ready)
    row = replace(row_of(due), sort_key=str(NOW), priority=0)
    look = QueueSnapshot(Head((row_of(ready),), is_fair=is_fair), Page((row,)))
    came_back = message(replace(due, state=JobState.AVAILABLE), count=2)
    line = QueueLine(claims_of(table, *([came_back] if is_fair else [])))
    assert {each.id for each in line.first(look)} == {due.id, ready.id}
    assert table.reads == ([(due.id,)] if is_fair else [])


def test_after_a_lost_claim_a_round_takes_its_own_messages_job_first() -> None:
    """Of the highest priority; then the others of it, in an order of its own."""
    others = some_jobs(20)
    own, low = a_job(50), a_job(51, priority=-1)
    claims = claims_of(Jobs(), message(low), message(own))
    claims.lost = 1
    line = QueueLine(claims)
    candidates = [ready_job(job) for job in (*others, own, low)]
    ordered = sorted(candidates, key=line.turn)
    assert (ordered[0].id, ordered[-1].id) == (own.id, low.id)
    assert [each.id for each in ordered[1:-1]] != [job.id for job in others]


def pages(*jobs: ListedJob, cursor: str = "") -> list[Page]:
    return [Page(jobs, cursor)] * (MAX_PAGES_BEYOND + 1)


def test_a_round_looks_behind_waiting_jobs_as_far_as_the_list_goes() -> None:
    """And no further than some pages; nothing that it has looked at comes again."""
    head, seen, fresh = some_jobs(3)
    table = Jobs(pages=pages(row_of(seen), row_of(fresh)))
    claims = claims_of(table)
    claims.seen[seen.id] = seen
    line = QueueLine(claims)
    assert [each.id for each in line.beyond(look_at(head).head)] == [fresh.id]
    assert table.listings == [f"behind {head.id}"]
    assert not [*line.beyond(look_at().head)]
    table = Jobs(pages=pages(cursor="on"))
    assert not [*QueueLine(claims_of(table)).beyond(look_at(head).head)]
    assert table.listings == [f"behind {head.id}", *["on"] * (MAX_PAGES_BEYOND - 1)]


def test_nobody_looks_behind_the_head_of_a_queue_that_is_at_its_limit() -> None:
    table = Jobs()
    refused = {"queue:default": LimitRefusal("rate", NOW)}
    limiting = LimitCheck("default", is_whole=True, refused=refused)
    line = QueueLine(claims_of(table, limiting=limiting))
    assert not [*line.beyond(look_at(a_job()).head)]
    assert table.listings == []


@pytest.mark.parametrize("named", ["", "own", "seen", "swapped"])
def test_the_job_whose_message_another_round_used_is_read(named: str) -> None:
    """By the reservation; not if it is the same job, or one that was looked at."""
    own, seen, swapped = some_jobs(3)
    ids = {"own": own.id, "seen": seen.id, "swapped": swapped.id, "": ""}
    table = Jobs()
    table.add(own, seen, swapped)
    claims = claims_of(table, message(own))
    held = replace(a_reservation(), message_job_id=ids[named])
    claims.seen = {own.id: replace(own, state=JobState.ACTIVE, reservation=held), seen.id: seen}
    found = [each.id for each in QueueLine(claims).swapped()]
    assert found == ([swapped.id] if named == "swapped" else [])
    assert table.reads == ([(swapped.id,)] if named == "swapped" else [])
