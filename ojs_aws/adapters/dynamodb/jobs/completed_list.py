"""Lists completed jobs that have no row of the index: an item holds up to 36 of a queue.

ACK removes the job's row, and the consumer of the table's stream puts these items (decision 88).
They have the id of each job, when it completed, and its type. They sort by the latest of these
instants. All instants of an item lie within :data:`SPAN_MS`, so that a range of time is a range of
keys. An item is never changed, and expires when the last of its jobs does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    decode_cursor,
    encode_cursor,
    number,
    read_count,
    read_string,
    string,
)
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Between, Count, ListedJob, Page, SharedRow

MAX_JOBS: Final = 36
"""Jobs of one item: with usual names, they fit one write unit."""

SPAN_MS: Final = 10_000

LEAST_READ: Final = 25
"""Items that one query of a range of time reads at least: those at its end may have none of it."""

COUNT: Final = "n"

_ID_BYTES: Final = 16
_TIME_BYTES: Final = 6
_ENTRY_BYTES: Final = _ID_BYTES + _TIME_BYTES + 1

_BEGIN: Final = "c."
"""Begins cursors; those of the index begin otherwise."""
_ROWS: Final = "r."
"""The cursor before the first row of the index."""

Read = Callable[[int, str], Page]
"""Reads a page of so many jobs behind a cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Says which completed jobs a page may have, and in which order."""

    queue: str
    newest_first: bool
    between: Between | None = None


@dataclass(frozen=True, slots=True)
class CompletedList(InTable):
    """Puts, reads and removes the items that list completed jobs."""

    def add(self, jobs: Sequence[JobRecord]) -> None:
        """Put an item for each queue, some more if there are many; the same jobs make the same."""
        for group in _groups(jobs):
            self.put_item(_item(group))

    def page(self, wanted: Wanted, limit: int, cursor: str) -> Page:
        """Run one query, and another one where a range of time begins or ends in many items."""
        page = self._page(wanted, limit, cursor)
        while page.cursor and not page.jobs:
            page = self._page(wanted, limit, page.cursor)
        return page

    def _page(self, wanted: Wanted, limit: int, cursor: str) -> Page:
        """Run one query; a page ends with an item if that does not make it empty."""
        position = _position(cursor) if cursor else None
        answer = self._query(wanted, position, limit)
        rows: list[ListedJob] = []
        last = ""
        for item in answer["Items"]:
            stored = _rows(item, wanted)
            found = [
                (shared, row)
                for shared, row in stored
                if _is_ahead(shared, position, wanted) and _is_in(row, wanted.between)
            ]
            if rows and len(rows) + len(found) > limit:
                return Page(tuple(rows), last)
            rows += [row for _, row in found[:limit]]
            if len(found) > limit:
                return Page(tuple(rows), cursor_behind(found[limit - 1][0]))
            last = cursor_behind(stored[-1][0])
        return Page(tuple(rows), last if answer.get("LastEvaluatedKey") else "")

    def _query(self, wanted: Wanted, position: tuple[str, int] | None, limit: int) -> Any:
        low, high = _keys(wanted.between)
        if position is not None and wanted.newest_first:
            high = min(high, position[0])
        elif position is not None:
            low = max(low, position[0])
        if high < low:
            return {"Items": []}
        values = {"pk": string(_partition(wanted.queue)), "low": string(low), "high": string(high)}
        return self.query(
            "#pk = :pk AND #sk BETWEEN :low AND :high",
            values,
            ScanIndexForward=not wanted.newest_first,
            Limit=(limit if wanted.between is None else max(limit, LEAST_READ)) + 1,
        )

    def count(self, queue: str, between: Between | None) -> Count:
        """Run one query that returns only numbers; it reads a megabyte at most."""
        low, high = _keys(between)
        values = {"pk": string(_partition(queue)), "low": string(low), "high": string(high)}
        answer = self.query(
            "#pk = :pk AND #sk BETWEEN :low AND :high", values, ProjectionExpression=f"#{COUNT}"
        )
        rows = sum(read_count(item, COUNT) for item in answer["Items"])
        is_whole = not answer.get("LastEvaluatedKey")
        return Count(rows, is_exact=not rows and is_whole, is_most=is_whole)

    def forget(self, rows: Sequence[ListedJob]) -> None:
        """Delete the items all of whose jobs are among some rows."""
        found: dict[tuple[str, str], list[SharedRow]] = {}
        for row in rows:
            if row.shared is not None:
                found.setdefault((row.queue, row.shared.key), []).append(row.shared)
        for (queue, key), positions in found.items():
            if len(positions) == positions[0].size:
                self.delete_item(item_key(_partition(queue), key))


def page_of_both(
    listed: Read, indexed: Read, limit: int, cursor: str, *, newest_first: bool
) -> Page:
    """Return a page of jobs without rows, and then of jobs with rows, which are older as a rule.

    The other way round where the oldest come first.
    """
    parts = (listed, indexed) if newest_first else (indexed, listed)
    at = 0 if not cursor or cursor.startswith(_BEGIN) is newest_first else 1
    page = parts[at](limit, "" if cursor in {_BEGIN, _ROWS} else cursor)
    if page.cursor or at == 1:
        return page
    if len(page.jobs) == limit:
        return Page(page.jobs, _ROWS if newest_first else _BEGIN)
    more = parts[1](limit - len(page.jobs), "")
    return Page(page.jobs + more.jobs, more.cursor)


def cursor_behind(shared: SharedRow) -> str:
    """Return the cursor behind a job of an item."""
    return _BEGIN + encode_cursor(shared.key, str(shared.position))


def _position(cursor: str) -> tuple[str, int]:
    """Return the item that a cursor stands in, and the job behind which it stands."""
    key, position = decode_cursor(cursor.removeprefix(_BEGIN), 2)
    if not position.isdecimal():
        message = "The 'cursor' parameter is not one that this server gave out."
        raise field_error("cursor", message, "Pass next_cursor of the page before as it is.")
    return key, int(position)


def _is_ahead(row: SharedRow, position: tuple[str, int] | None, wanted: Wanted) -> bool:
    """Return whether a row comes after the end of the page before."""
    if position is None:
        return True
    here = (row.key, row.position)
    return here < position if wanted.newest_first else here > position


def _is_in(row: ListedJob, between: Between | None) -> bool:
    return between is None or between.since <= row.due <= between.until


def _keys(between: Between | None) -> tuple[str, str]:
    """Return the keys between which the items of a range of time stand."""
    if between is None:
        return "0", "~"
    return n.instant_key(between.since), n.instant_key(between.until + SPAN_MS) + "~"


def _partition(queue: str) -> str:
    return f"completed#{queue}"


# ------------------------------------------------------------------------------------- items
def _groups(jobs: Sequence[JobRecord]) -> Iterator[list[JobRecord]]:
    """Group jobs so that each group fits an item, oldest first.

    Jobs that stay for other times than the rest get items of their own, so that these can expire.
    """
    kinds: dict[tuple[str, int], dict[str, JobRecord]] = {}
    for job in jobs:
        kinds.setdefault((job.queue, _kept_days(job)), {})[job.id] = job
    for same in kinds.values():
        group: list[JobRecord] = []
        for job in sorted(same.values(), key=_order):
            is_far = bool(group) and _completed(job) - _completed(group[0]) > SPAN_MS
            if is_far or len(group) == MAX_JOBS:
                yield group
                group = []
            group.append(job)
        yield group


def _kept_days(job: JobRecord) -> int:
    return -1 if job.kept_until is None else (job.kept_until - _completed(job)) // 86_400_000


def _completed(job: JobRecord) -> int:
    return job.completed_at or 0


def _order(job: JobRecord) -> tuple[int, str]:
    return _completed(job), job.id


def _item(jobs: Sequence[JobRecord]) -> Item:
    """Return the item of some jobs of a queue, oldest first."""
    types = sorted({job.type for job in jobs})
    entries = b"".join(
        UUID(job.id).bytes
        + _completed(job).to_bytes(_TIME_BYTES, "big")
        + bytes([types.index(job.type)])
        for job in jobs
    )
    name = hashlib.sha256(entries).hexdigest()[:8]
    key = f"{n.instant_key(_completed(jobs[-1]))}#{name}"
    item: Item = {
        **item_key(_partition(jobs[0].queue), key),
        n.DOCUMENT: {"B": entries},
        n.TYPE: string(" ".join(types)),
        COUNT: number(len(jobs)),
    }
    if jobs[-1].kept_until is not None:
        item[n.TTL] = number(max(job.kept_until or 0 for job in jobs) // 1000)
    return item


def _rows(item: Item, wanted: Wanted) -> list[tuple[SharedRow, ListedJob]]:
    """Return the jobs of an item as rows, in the order of a page."""
    entries, types = bytes(item[n.DOCUMENT]["B"]), read_string(item, n.TYPE).split(" ")
    key, size = read_string(item, n.SK), len(entries) // _ENTRY_BYTES
    rows = []
    for position in range(size):
        entry = entries[position * _ENTRY_BYTES :][:_ENTRY_BYTES]
        shared = SharedRow(key=key, position=position, size=size)
        row = ListedJob(
            id=str(UUID(bytes=entry[:_ID_BYTES])),
            queue=wanted.queue,
            sort_key=n.instant_key(int.from_bytes(entry[_ID_BYTES:-1], "big")),
            state=JobState.COMPLETED,
            type=types[entry[-1]],
            timeout_ms=None,
            visibility_timeout_ms=None,
            shared=shared,
        )
        rows.append((shared, row))
    return rows[::-1] if wanted.newest_first else rows
