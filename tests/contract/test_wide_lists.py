"""The lists of a wide queue's lines, merged: each page, cursor and count is as of one list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.jobs.lists import Lists
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.adapters.dynamodb.names import GPK, GSK, PK, SK, list_key
from ojs_aws.adapters.dynamodb.queues.depths import Depths
from ojs_aws.bootstrap import job_store
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Between, Count, JobList, ListedJob
from ojs_aws.domain.timestamps import Instant
from tests.aws import EmbeddedAws, embedded
from tests.contract.test_job_store import NOW, a_job, a_reservation

LINES = 3


@pytest.fixture
def aws() -> Iterator[EmbeddedAws]:
    """A deployment whose queue ``default`` is wide."""
    with embedded() as made:
        yield replace(made, settings=replace(made.settings, wide_queues=(("default", LINES),)))


@pytest.fixture
def store(aws: EmbeddedAws) -> JobStore:
    """The store of its jobs."""
    return job_store(aws.settings, aws.clients)


@pytest.fixture
def narrow(aws: EmbeddedAws) -> JobStore:
    """A store that knows of no wide queue, as before."""
    return job_store(replace(aws.settings, wide_queues=()), aws.clients)


def ready(number: int, **changes: object) -> JobRecord:
    """An available job of one of the lines."""
    return a_job(number, shard=number % LINES, **changes)


def waiting(number: int, due: int) -> JobRecord:
    """A scheduled job of one of the lines."""
    changes = {"state": JobState.SCHEDULED, "enqueued_at": None}
    return a_job(number, shard=number % LINES, scheduled_at=Instant(NOW + due), **changes)


def insert(store: JobStore, *jobs: JobRecord) -> None:
    """Store jobs."""
    for job in jobs:
        store.insert(job)


def walked(
    store: JobStore,
    name: JobList,
    size: int,
    *,
    newest_first: bool = False,
    between: Between | None = None,
    cursor: str = "",
) -> list[ListedJob]:
    """All rows of a list, by pages."""
    rows: list[ListedJob] = []
    while True:
        page = store.listed(
            "default", name, size, cursor=cursor, newest_first=newest_first, between=between
        )
        assert len(page.jobs) <= size
        assert page.jobs or not page.cursor
        rows += page.jobs
        cursor = page.cursor
        if not cursor:
            return rows


def test_a_row_says_its_line(store: JobStore, narrow: JobStore) -> None:
    """And the item as well; shard 0 has the keys of before."""
    insert(store, *map(ready, range(1, 5)))
    rows = walked(store, JobList.READY, 10)
    assert [(row.queue, row.shard) for row in rows] == [("default", n % LINES) for n in range(1, 5)]
    assert [store.load(row.id) for row in rows] == [ready(n) for n in range(1, 5)]
    assert [row.id for row in narrow.head("default", 9).jobs] == [ready(3).id]
    assert [row.id for row in store.head("default", 9, 2).jobs] == [ready(2).id]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_follow_each_other_in_order(store: JobStore, size: int, newest_first: bool) -> None:
    """Whatever their size; also where many jobs are due at the same instant."""
    insert(store, *(ready(n, priority=n % 4) for n in range(1, 31)))
    insert(store, *(waiting(n, due=n % 5) for n in range(101, 131)))
    for name, most in ((JobList.READY, 30), (JobList.WAITING, 30)):
        rows = walked(store, name, size, newest_first=newest_first)
        assert len({row.id for row in rows}) == len(rows) == most
        keys = [row.sort_key for row in rows]
        assert keys == sorted(keys, reverse=newest_first)
        for at in (0, 11, 29):  # the cursor of each row leads behind it
            behind = store.place_of(rows[at], name)
            rest = walked(store, name, size, newest_first=newest_first, cursor=behind)
            assert rest == rows[at + 1 :]


def test_a_long_line_does_not_hide_the_others(store: JobStore) -> None:
    """A page ends where a line has more than was read of it."""
    insert(store, *(a_job(n, shard=1) for n in range(1, 26)))
    insert(store, *(a_job(n, shard=2, order=NOW * 1000 + 90 + n) for n in range(26, 29)))
    rows = walked(store, JobList.READY, 12)
    assert [row.id for row in rows] == [a_job(n).id for n in range(1, 29)]
    page = store.listed("default", JobList.READY, 12, newest_first=False)
    assert len(page.jobs) == 8
    assert page.cursor


def test_a_page_of_a_line_that_is_empty_hides_no_jobs(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query may find none and say that there are more."""
    insert(store, *map(ready, range(1, 7)))
    page_of = Lists.page_of

    def halting(
        lists: Lists, partition: str, limit: int, *, start: Any = None, **more: Any
    ) -> tuple[list[Any], Any]:
        rows, last = page_of(lists, partition, limit, start=start, **more)
        if start is not None or partition != list_key("default", JobList.READY, 1) or not rows:
            return rows, last
        begin = {name: rows[0][name] for name in (GPK, GSK, PK, SK)}
        return [], begin | {PK: {"S": rows[0][PK]["S"][:-1]}}

    monkeypatch.setattr(Lists, "page_of", halting)
    rows = walked(store, JobList.READY, 40)
    assert [row.id for row in rows] == [ready(n).id for n in range(1, 7)]


def test_due_jobs_come_from_all_lines(store: JobStore) -> None:
    """Up to an instant, in order, and page by page."""
    insert(store, *(waiting(n, due=1000 * n) for n in range(1, 10)))
    found: list[str] = []
    cursor = ""
    while True:
        page = store.due("default", Instant(0), Instant(NOW + 6000), 2, cursor=cursor)
        found += [row.id for row in page.jobs]
        cursor = page.cursor
        if not cursor:
            break
    assert found == [a_job(n).id for n in range(1, 7)]
    (own,) = store.due("default", Instant(0), Instant(NOW + 3000), 9, shard=1).jobs
    assert own.id == a_job(1).id
    assert store.due("default", Instant(9), Instant(8), 2).jobs == ()


def test_ranges_hold_for_each_page(store: JobStore) -> None:
    """Both ends included, in both directions."""
    insert(store, *(waiting(n, due=n // 3) for n in range(1, 31)))
    between = Between(Instant(NOW + 3), Instant(NOW + 6))
    for newest_first in (False, True):
        rows = walked(store, JobList.WAITING, 2, newest_first=newest_first, between=between)
        assert {row.due - NOW for row in rows} == {3, 4, 5}
        assert len(rows) == 9
    # The end of the range is the instant itself: behind it stands what else the key says.
    assert store.count("default", JobList.WAITING, between) == Count(9)


def test_a_cursor_of_before_goes_on_in_all_lines(store: JobStore, narrow: JobStore) -> None:
    """It is of the first line; what the others have behind it follows."""
    insert(store, *(ready(n) for n in range(1, 13)))
    page = narrow.listed("default", JobList.READY, 2, newest_first=False)
    assert [row.id for row in page.jobs] == [ready(3).id, ready(6).id]
    rows = walked(store, JobList.READY, 2, cursor=page.cursor)
    assert [row.id for row in rows] == [ready(n).id for n in range(7, 13)]
    for cursor in ("x", page.cursor[:-4], "WyIxIiwgIjIiLCAiMyIsICJ4Il0"):
        with pytest.raises(InvalidRequestError):
            store.listed("default", JobList.READY, 2, cursor=cursor)


def test_counts_are_of_all_lines(aws: EmbeddedAws, store: JobStore) -> None:
    """Of rows, priorities and states; the depth of a bounded queue as well."""
    insert(store, *(ready(n, priority=n % 2) for n in range(1, 8)))
    insert(store, *(waiting(n, due=5) for n in range(101, 105)))
    pending = a_job(200, shard=1, state=JobState.PENDING, enqueued_at=None)
    insert(store, pending)
    store.claim("default", ready(1).id, a_reservation(), NOW, shard=1)
    assert store.count("default", JobList.READY) == Count(6)
    assert store.count("default", JobList.WAITING) == Count(5)
    assert store.count("default", JobList.PENDING) == Count(1)
    assert store.count_priorities("default") == ({0: 3, 1: 3}, True)
    waits = store.count_waiting("default")
    assert (waits[JobState.SCHEDULED], waits[JobState.ACTIVE]) == (Count(4), Count(1))
    depths = Depths(aws.clients.dynamodb, aws.settings.table, {"default": LINES})
    assert depths.count("default", 99) == 12
    assert Depths(aws.clients.dynamodb, aws.settings.table).count("default", 99) < 12


def test_the_head_and_the_oldest_are_of_all_lines(store: JobStore) -> None:
    """The first jobs of each line, merged; none where there are none."""
    assert store.oldest_ready("default") is None
    insert(store, *(ready(n) for n in range(1, 10)))
    assert [row.id for row in store.head("default", 4).jobs] == [ready(n).id for n in range(1, 5)]
    insert(store, a_job(50, shard=2, order=(NOW - 70) * 1000))
    assert store.oldest_ready("default") == NOW - 70
    assert store.oldest_ready("default", 1) == NOW
    assert store.head("other", 4).jobs == ()


def test_a_claimed_job_waits_in_its_line(store: JobStore) -> None:
    """So does one that failed, and it comes back into the same line."""
    insert(store, ready(2))
    store.claim("default", ready(2).id, a_reservation(), NOW, ready(2).ready_key, 2)
    assert store.head("default", 9).jobs == ()
    (row,) = store.due("default", Instant(0), Instant(NOW * 2), 9, shard=2).jobs
    assert (row.id, row.shard, row.state) == (ready(2).id, 2, JobState.ACTIVE)
    held = store.load(row.id)
    assert held is not None
    store.save(held, held.next_version(state=JobState.AVAILABLE, reservation=None))
    assert [row.id for row in store.head("default", 9, 2).jobs] == [ready(2).id]


def test_other_queues_are_as_they_were(aws: EmbeddedAws, store: JobStore) -> None:
    """Neither more calls nor other ones."""
    insert(store, a_job(1, queue="other"), waiting(2, 5), a_job(3, queue="other", shard=0))
    with aws.calls.counted() as calls:
        assert len(store.head("other", 9).jobs) == 2
        assert store.listed("other", JobList.READY, 9).cursor == ""
        assert store.count("other", JobList.WAITING) == Count(0)
        assert store.count_priorities("other") == ({0: 2}, True)
        store.count_waiting("other")
        store.due("other", Instant(0), NOW, 9)
        store.oldest_ready("other")
    assert calls == {"Query": 8}
