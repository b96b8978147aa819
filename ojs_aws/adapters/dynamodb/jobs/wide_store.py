"""Stores the jobs of a deployment with wide queues: merges the lists of all their lines into one.

Rows are in the order of their sort keys, and rows with equal ones in the order of their lines. A
cursor names the last row and its line; one that names no line is of the first, as it was before
the queue was wide. So each line begins behind the last row of the page before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, decode_cursor, encode_cursor, read_string
from ojs_aws.adapters.dynamodb.jobs.codec import IN_LINES
from ojs_aws.adapters.dynamodb.jobs.lists import between_instants, keys_of, page_of_jobs
from ojs_aws.adapters.dynamodb.jobs.store import JobStore
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Between, Count, Head, JobList, Page
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.lists import Lists

LEAST_ROWS: Final = 8
"""Rows that each line is asked for at least, for a page that is no smaller."""

_FIRST: Final = "!"
_LAST: Final = "~"
"""All sort keys are between these."""


class Row(NamedTuple):
    """Holds a row of the index, with what it is ordered by."""

    sort_key: str
    shard: int
    item: Item


@dataclass(frozen=True, slots=True)
class _Place:
    """Says where a page begins: behind a row of a line."""

    shard: int
    sort_key: str
    row: Item

    def bounds(self, shard: int, *, newest_first: bool) -> tuple[str, str]:
        """Return between which sort keys another line has the rows that follow.

        Rows with the same key were on the page before, if their line comes earlier.
        """
        is_earlier = shard < self.shard
        if newest_first:
            return _FIRST, _before(self.sort_key) if is_earlier else self.sort_key
        return self.sort_key + ("\0" if is_earlier else ""), _LAST


def _before(key: str) -> str:
    """Return a text before a sort key and behind all smaller ones."""
    return key[:-1] + chr(ord(key[-1]) - 1) + "\U0010ffff"


def _place_at(cursor: str) -> _Place:
    """Read a cursor.

    :raises InvalidRequestError: this backend did not make it.
    """
    shard = "0"
    with suppress(InvalidRequestError):
        *parts, shard = decode_cursor(cursor, 4)
        if shard.isdecimal():
            return _made(parts, int(shard))
    return _made(decode_cursor(cursor, 3), 0)


def _made(parts: Sequence[str], shard: int) -> _Place:
    gsk, pk, sk = parts
    return _Place(shard, gsk, {n.GSK: {"S": gsk}, n.PK: {"S": pk}, n.SK: {"S": sk}})


@dataclass(frozen=True, slots=True)
class WideLists:
    """Reads the lists of a wide queue, all its lines together."""

    lists: Lists
    queue: str
    lines: int

    def head(self, limit: int) -> Head:
        """Return the first ready jobs of all lines; what the first line says of the queue counts.

        Runs a query for each line.
        """
        heads = [self.lists.head(self.queue, limit, shard) for shard in range(self.lines)]
        jobs = sorted(
            (row for head in heads for row in head.jobs), key=lambda row: (row.sort_key, row.shard)
        )
        first = replace(heads[0], jobs=())
        is_uneven = any(replace(head, jobs=()) != first for head in heads)
        return replace(first, jobs=tuple(jobs[:limit]), is_uneven=is_uneven)

    def oldest_ready(self) -> Instant | None:
        """Return since when the oldest ready job of all lines has been available."""
        found = (self.lists.oldest_ready(self.queue, shard) for shard in range(self.lines))
        return min((since for since in found if since is not None), default=None)

    def rows(
        self,
        name: JobList,
        limit: int,
        *,
        cursor: str,
        between: tuple[str, str] | None,
        newest_first: bool = False,
    ) -> tuple[list[Item], str]:
        """Return a page of rows, and the cursor behind it; empty at the end.

        Runs a query for each line. A page may be shorter than asked for before the end.
        """
        place = _place_at(cursor) if cursor else None
        found: list[Row] = []
        ends: list[tuple[str, int]] = []
        share = min(limit, max(LEAST_ROWS, -(-2 * limit // self.lines)))
        for shard in range(self.lines):
            rows, has_more = self._of_line(
                name, shard, share, place, between, newest_first=newest_first
            )
            found += rows
            if has_more and rows:
                ends.append(_order(rows[-1], newest_first=newest_first))
        ordered = sorted(found, key=lambda row: _order(row, newest_first=newest_first))
        page = [
            row
            for row in ordered
            if not ends or _order(row, newest_first=newest_first) <= min(ends)
        ][:limit]
        is_end = not ends and len(page) == len(ordered)
        return [row.item for row in page], "" if is_end or not page else _behind(page[-1])

    def _of_line(
        self,
        name: JobList,
        shard: int,
        limit: int,
        place: _Place | None,
        between: tuple[str, str] | None,
        *,
        newest_first: bool,
    ) -> tuple[list[Row], bool]:
        """Return the rows of one line behind a place, and whether there are more.

        Runs one query, and another one where a page is empty, and more may follow.
        """
        start: Item | None = None
        partition = n.list_key(self.queue, name, shard)
        if place is not None and place.shard == shard:
            start = {n.GPK: {"S": partition}, **place.row}
        elif place is not None:
            low, high = place.bounds(shard, newest_first=newest_first)
            least, most = between or (_FIRST, _LAST)
            between = (max(low, least), min(high, most))
            if between[0] > between[1]:
                return [], False
        page_of = partial(
            self.lists.page_of, partition, limit, between=between, backwards=newest_first
        )
        rows, last = page_of(start=start)
        while last and not rows:
            rows, last = page_of(start=last)
        return [Row(read_string(row, n.GSK), shard, row) for row in rows], bool(last)

    def count_priorities(self) -> tuple[dict[int, int], bool]:
        """Return how many jobs are ready in each priority; a query for each line."""
        found: Counter[int] = Counter()
        is_exact = True
        for shard in range(self.lines):
            counted, is_all = self.lists.count_priorities(self.queue, shard)
            found.update(counted)
            is_exact = is_exact and is_all
        return dict(found), is_exact

    def count_waiting(self) -> dict[JobState, Count]:
        """Return how many jobs wait in each state; a query for each line."""
        lines: list[Mapping[JobState, Count]] = [
            self.lists.count_waiting(self.queue, shard) for shard in range(self.lines)
        ]
        return {state: summed([line[state] for line in lines]) for state in lines[0]}


def _order(row: Row, *, newest_first: bool) -> tuple[str, int]:
    """Return what a row is ordered by; as text that sorts the other way for the newest first."""
    if not newest_first:
        return row.sort_key, row.shard
    return "".join(chr(0x10FFFF - ord(each)) for each in row.sort_key) + "\U0010ffff", row.shard


def _behind(row: Row) -> str:
    """Return the cursor behind a row, for the first line as for a queue with one."""
    parts = (row.sort_key, *(read_string(row.item, name) for name in (n.PK, n.SK)))
    return encode_cursor(*parts, *([str(row.shard)] if row.shard else []))


def summed(counted: Sequence[Count]) -> Count:
    """Return the number of rows of all lines."""
    return Count(sum(each.rows for each in counted), all(each.is_exact for each in counted))


@dataclass(frozen=True, slots=True)
class WideJobStore(JobStore):
    """Stores jobs; whoever names no shard of a wide queue reads all its lines as one.

    :ivar lines: how many lines each wide queue may have jobs in. Other queues have one.
    """

    lines: Mapping[str, int] = field(default_factory=dict)

    def _wide(self, queue: str) -> WideLists:
        return WideLists(self, queue, self.lines[queue])

    def head(self, queue: str, limit: int, shard: int | None = None) -> Head:
        """Return the first ready jobs of a queue, or of one of its lines; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).head(limit)
        return JobStore.head(self, queue, limit, shard or 0)

    def oldest_ready(self, queue: str, shard: int | None = None) -> Instant | None:
        """Return since when the oldest ready job has been available; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).oldest_ready()
        return JobStore.oldest_ready(self, queue, shard or 0)

    def due(
        self,
        queue: str,
        since: Instant,
        until: Instant,
        limit: int,
        *,
        cursor: str = "",
        shard: int | None = None,
    ) -> Page:
        """Return a page of waiting jobs by their due times; see :class:`Lists`."""
        if shard is not None or queue not in self.lines:
            return JobStore.due(self, queue, since, until, limit, cursor=cursor, shard=shard or 0)
        if until < since:
            return Page(())
        keys = between_instants(since, until)
        found = self._wide(queue).rows(JobList.WAITING, limit, cursor=cursor, between=keys)
        return page_of_jobs(*found)

    def indexed(
        self,
        queue: str,
        name: JobList,
        limit: int,
        cursor: str,
        between: Between | None,
        *,
        newest_first: bool,
    ) -> Page:
        """Return a page of the rows that the index has of a list; see :class:`Lists`."""
        if queue not in self.lines or name not in IN_LINES:
            return JobStore.indexed(
                self, queue, name, limit, cursor, between, newest_first=newest_first
            )
        keys = keys_of(between)
        found = self._wide(queue).rows(
            name, limit, cursor=cursor, between=keys, newest_first=newest_first
        )
        return page_of_jobs(*found)

    def count_rows(
        self, queue: str, name: JobList, between: Between | None, shard: int | None = None
    ) -> Count:
        """Return how many rows the index has of a list; see :class:`Lists`."""
        if shard is not None or queue not in self.lines or name not in IN_LINES:
            return JobStore.count_rows(self, queue, name, between, shard or 0)
        lines = range(self.lines[queue])
        return summed([JobStore.count_rows(self, queue, name, between, each) for each in lines])

    def count_priorities(self, queue: str, shard: int | None = None) -> tuple[dict[int, int], bool]:
        """Return how many jobs are ready in each priority; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).count_priorities()
        return JobStore.count_priorities(self, queue, shard or 0)

    def count_waiting(self, queue: str, shard: int | None = None) -> dict[JobState, Count]:
        """Return how many jobs wait in each state; see :class:`Lists`."""
        if shard is None and queue in self.lines:
            return self._wide(queue).count_waiting()
        return JobStore.count_waiting(self, queue, shard or 0)
