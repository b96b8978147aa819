"""What every JobStore must do with completed jobs that ACK leaves to be listed later."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ojs_aws.adapters.dynamodb.jobs.completed_list import CompletedList
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.held_job import Holder
from ojs_aws.domain.jobs.lists import Between, JobList
from ojs_aws.domain.jobs.outcomes import LeftToStream
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws
from tests.contract.test_job_store import NOW, a_job, a_reservation, store

__all__ = ["store"]

WEEK_MS = 7 * 86_400_000


def completed(
    store: JobStore, number: int, *, at: int = 0, leaves_listing: bool = True, **changes: object
) -> JobRecord:
    """Complete a job so many milliseconds later; return what the stream shows of it."""
    job = a_job(number, **changes)
    store.insert(job)
    store.claim(job.queue, job.id, a_reservation(), NOW)
    leaves = LeftToStream(listing=leaves_listing)
    store.acknowledge(job.id, Holder(None), None, Instant(NOW + at), leaves=leaves)
    after = store.load(job.id)
    assert after is not None
    return after


def shown(
    store: JobStore,
    size: int = 100,
    *,
    newest_first: bool = True,
    between: Between | None = None,
    queue: str = "default",
) -> list[str]:
    """Return the ids of all pages of the list of completed jobs."""
    found: list[str] = []
    cursor = ""
    while True:
        page = store.listed(
            queue,
            JobList.COMPLETED,
            size,
            cursor=cursor,
            newest_first=newest_first,
            between=between,
        )
        assert len(page.jobs) <= size
        found += [row.id for row in page.jobs]
        cursor = page.cursor
        if not cursor:
            return found


def ids(jobs: Sequence[JobRecord]) -> list[str]:
    """Return the ids of jobs."""
    return [job.id for job in jobs]


def test_a_job_without_a_row_is_listed_when_the_stream_lists_it(store: JobStore) -> None:
    """Not before; and once, however often that is repeated."""
    job = completed(store, 1)
    assert job.is_listing_left
    assert shown(store) == []
    assert store.count("default", JobList.COMPLETED).rows == 0
    for _ in range(2):
        store.list_completed([job])
    assert shown(store) == [job.id]
    assert store.count("default", JobList.COMPLETED).rows == 1
    (row,) = store.listed("default", JobList.COMPLETED, 10).jobs
    assert (row.queue, row.type, row.due) == ("default", "demo.echo", job.completed_at)


def test_the_write_is_what_the_lifecycle_says(store: JobStore) -> None:
    """The blind write without a row comes to the same record as the pure function."""
    job = a_job()
    store.insert(job)
    held = store.claim("default", job.id, a_reservation(), NOW)
    leaves = LeftToStream(message=True, listing=True)
    store.acknowledge(job.id, Holder("w1"), None, NOW, leaves=leaves)
    wanted = lifecycle.complete(held, None, NOW, leaves)
    assert store.load(job.id) == wanted


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("newest_first", [True, False])
def test_pages_of_both_kinds_miss_and_repeat_nothing(
    store: JobStore, size: int, newest_first: bool
) -> None:
    """Jobs with rows, and jobs of several items, in pages of any size, in both orders."""
    old = [completed(store, n, at=n, leaves_listing=False) for n in range(1, 6)]
    new = [completed(store, n, at=n) for n in range(10, 18)]
    for begin in range(0, 8, 3):
        store.list_completed(new[begin : begin + 3])
    wanted = ids(old + new)
    found = shown(store, size, newest_first=newest_first)
    assert found == (wanted[::-1] if newest_first else wanted)


def test_a_range_of_time_has_its_jobs_and_no_others(store: JobStore) -> None:
    """Whatever the jobs are listed together with; both ends are included."""
    chance = random.Random(3)
    jobs = [completed(store, n, at=chance.randrange(25_000)) for n in range(1, 60)]
    for begin in range(0, len(jobs), 20):
        store.list_completed(jobs[begin : begin + 20])
    for _ in range(20):
        since, until = sorted(NOW + chance.randrange(25_000) for _ in range(2))
        between = Between(Instant(since), Instant(until))
        wanted = {job.id for job in jobs if since <= (job.completed_at or 0) <= until}
        for newest_first in (True, False):
            found = shown(store, 10, newest_first=newest_first, between=between)
            assert sorted(found) == sorted(wanted)
    edge = jobs[7].completed_at or NOW
    assert jobs[7].id in shown(store, between=Between(edge, edge))
    assert shown(store, between=Between(Instant(NOW + 9), Instant(NOW + 8))) == []


def test_each_queue_has_its_own_completed_jobs(store: JobStore) -> None:
    """One call lists those of several queues and types."""
    mine = completed(store, 1, type="a.b")
    other = completed(store, 2, queue="other")
    more = completed(store, 3, at=5)
    store.list_completed([mine, other, more])
    assert shown(store) == [more.id, mine.id]
    assert shown(store, queue="other") == [other.id]
    rows = store.listed("default", JobList.COMPLETED, 10).jobs
    assert [row.type for row in rows] == ["demo.echo", "a.b"]


def test_many_jobs_are_listed_at_once(store: JobStore) -> None:
    """More than fit one item."""
    jobs = [completed(store, n, at=n) for n in range(1, 101)]
    store.list_completed(jobs)
    assert shown(store, newest_first=False) == ids(jobs)
    assert shown(store, 40) == ids(jobs)[::-1]
    assert store.count("default", JobList.COMPLETED).rows == 100


def test_nothing_to_list_is_no_call(store: JobStore) -> None:
    """As in most batches of the stream."""
    store.list_completed([])
    store.unlist([])
    assert shown(store) == []


def test_rows_of_jobs_that_are_gone_can_be_removed(store: JobStore) -> None:
    """What is left in the lists are the others."""
    first = [completed(store, n, at=n) for n in range(1, 4)]
    then = [completed(store, n, at=n) for n in range(4, 6)]
    store.list_completed(first)
    store.list_completed(then)
    for job in first:
        store.delete(job)
    rows = store.listed("default", JobList.COMPLETED, 10, newest_first=False).jobs
    store.unlist([row for row in rows if row.id in ids(first)])
    assert shown(store) == ids(then)[::-1]


def test_an_item_expires_with_the_last_of_its_jobs(aws: EmbeddedAws) -> None:
    """Whichever that is; jobs that stay for other days, or for ever, have items of their own."""
    days = (2.4, 2.9, 2.1, 30.5, None, 30.0)
    jobs = [
        replace(
            lifecycle.claim(a_job(number), a_reservation(), NOW),
            state=JobState.COMPLETED,
            completed_at=NOW,
            kept_until=None if each is None else Instant(NOW + int(each * 86_400_000)),
        )
        for number, each in enumerate(days)
    ]
    CompletedList(aws.clients.dynamodb, aws.settings.table).add(jobs)
    items = aws.clients.dynamodb.scan(TableName=aws.settings.table)["Items"]
    found = {int(item["n"]["N"]): int(item.get("ttl", {"N": "0"})["N"]) for item in items}
    assert found == {
        3: (NOW + int(2.9 * 86_400_000)) // 1000,
        2: (NOW + int(30.5 * 86_400_000)) // 1000,
        1: 0,
    }


def test_a_job_that_is_written_again_gets_no_row(store: JobStore) -> None:
    """It would be in the list twice."""
    job = completed(store, 1)
    store.list_completed([job])
    store.save(job, replace(job, version=job.version + 1, changed_by="4 k\tAda"))
    assert shown(store) == [job.id]
