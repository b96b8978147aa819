"""Reads the lists of each queue by queries of the one index, never by a scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    encode_cursor,
    read_number,
    read_string,
    row_at,
    row_cursor,
    string,
)
from ojs_aws.adapters.dynamodb.jobs.codec import from_row
from ojs_aws.adapters.dynamodb.jobs.completed_list import (
    CompletedList,
    Wanted,
    cursor_behind,
    page_of_both,
)
from ojs_aws.adapters.dynamodb.table import InTable, in_index
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Between, Count, Head, JobList, ListedJob, Page
from ojs_aws.domain.jobs.ready_keys import READY_BASE, after_priority, ready_since
from ojs_aws.domain.timestamps import Instant

PAUSED: Final = "!"
"""Rows that begin like this come first in the ready list and say something of the queue itself."""


LIMITED: Final = "!limits"
"""The row of a bucket that limits the whole queue; its type is the policy."""

SETTINGS: Final = "!settings"
"""The row of a queue's settings; its visibility timeout is the queue's."""

FAIR: Final = "fair"
"""The type of that row where the queue is fair."""

_ALL_JOBS: Final = ("0", "~")
"""Sort keys of jobs; rows that say something of the queue itself come before them."""

MAX_PRIORITIES: Final = 8
"""Priorities that are looked at for the oldest job."""

_WAITING: Final = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)


@dataclass(frozen=True, slots=True)
class Lists(InTable):
    """Reads the index, as a part of the job store.

    A queue has one line, of shard 0, unless a
    :class:`~ojs_aws.adapters.dynamodb.jobs.wide_store.WideJobStore` knows it to be wide.
    """

    def head(self, queue: str, limit: int, shard: int = 0) -> Head:
        """Return the first ready jobs of a queue, and whether it is paused.

        The index lags: jobs that were claimed a moment ago may be among them.
        """
        rows, _ = self.page_of(n.list_key(queue, JobList.READY, shard), limit)
        marks = {
            read_string(row, n.GSK): row
            for row in rows
            if read_string(row, n.GSK).startswith(PAUSED)
        }
        return Head(
            tuple(from_row(row) for row in rows[len(marks) :]),
            PAUSED in marks,
            read_string(marks.get(LIMITED, {}), n.TYPE),
            read_number(marks.get(SETTINGS, {}), n.VISIBILITY),
            read_string(marks.get(SETTINGS, {}), n.TYPE) == FAIR,
        )

    def oldest_ready(self, queue: str, shard: int = 0) -> Instant | None:
        """Return since when the oldest ready job has been available, whatever its priority.

        The first row of each priority is the oldest of that priority. So this makes one call for
        each priority that jobs are available in, for at most eight: the highest ones. If there are
        more, it also reads the lowest, which starves first.
        """
        partition, (low, high) = n.list_key(queue, JobList.READY, shard), _ALL_JOBS
        sort_keys: list[str] = []
        for _ in range(MAX_PRIORITIES):
            rows, _ = self.page_of(partition, 1, between=(low, high))
            if not rows:
                break
            sort_keys.append(from_row(rows[0]).sort_key)
            low = after_priority(sort_keys[-1])
        else:
            last, _ = self.page_of(partition, 1, between=(low, high), backwards=True)
            if last:
                lowest = from_row(last[0]).sort_key.partition("#")[0]
                rows, _ = self.page_of(partition, 1, between=(lowest, high))
                sort_keys += [from_row(row).sort_key for row in rows]
        return min(map(ready_since, sort_keys), default=None)

    def due(
        self,
        queue: str,
        since: Instant,
        until: Instant,
        limit: int,
        *,
        cursor: str = "",
        shard: int = 0,
    ) -> Page:
        """Return a page of waiting jobs whose next due time is in [since, until], earliest first.

        :param cursor: where the page before ended; any number of jobs may share an instant.
        """
        if until < since:
            return Page(())
        partition = n.list_key(queue, JobList.WAITING, shard)
        rows, last = self.page_of(
            partition,
            limit,
            between=between_instants(since, until),
            start=row_at(partition, cursor) if cursor else None,
        )
        return Page(tuple(from_row(row) for row in rows), row_cursor(last))

    def listed(
        self,
        queue: str,
        name: JobList,
        limit: int,
        *,
        cursor: str = "",
        newest_first: bool = True,
        between: Between | None = None,
    ) -> Page:
        """Return a page of one list of a queue; for lists ordered by time, of a time range.

        Completed jobs are those with a row of the index and those that only an item lists.

        :param cursor: of the page before, or of :meth:`place_of` a row.
        """
        if between is not None and between.until < between.since:
            return Page(())
        if name is not JobList.COMPLETED:
            return self.indexed(queue, name, limit, cursor, between, newest_first=newest_first)
        return self._completed(queue, limit, cursor, between, newest_first=newest_first)

    def _completed(
        self, queue: str, limit: int, cursor: str, between: Between | None, *, newest_first: bool
    ) -> Page:
        wanted = Wanted(queue=queue, newest_first=newest_first, between=between)

        def listed(most: int, sort_key: str) -> Page:
            return CompletedList(self.client, self.table).page(wanted, most, sort_key)

        def indexed(most: int, sort_key: str) -> Page:
            return self.indexed(
                queue, JobList.COMPLETED, most, sort_key, between, newest_first=newest_first
            )

        return page_of_both(listed, indexed, limit, cursor, newest_first=newest_first)

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
        """Return a page of the rows that the index has of a list; see :meth:`listed`."""
        partition = n.list_key(queue, name)
        start = row_at(partition, cursor) if cursor else None
        rows, last = self.page_of(
            partition, limit, start=start, backwards=newest_first, between=keys_of(between)
        )
        return page_of_jobs(rows, row_cursor(last))

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """Return the cursor of the page that begins after a row of a list.

        Build the cursor from the row itself, as a page's cursor is; no call.
        """
        if row.shared is not None:
            return cursor_behind(row.shared)
        line = [str(row.shard)] if row.shard else []
        key = row.sort_key
        if name is JobList.WAITING:
            key = n.due_key(row.due, is_far=row.is_far, priority=row.priority)
        return encode_cursor(key, n.job_pk(row.id), n.JOB_SK, *line)

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """Return how many rows a list has; not exact beyond some thousands.

        Runs one query that returns no rows, and reads a megabyte of the index at most. For
        completed jobs, it runs another query, which counts those without rows.
        """
        if between is not None and between.until < between.since:
            return Count(0)
        rows = self.count_rows(queue, name, between)
        if name is not JobList.COMPLETED:
            return rows
        listed = CompletedList(self.client, self.table).count(queue, between)
        if listed.is_exact:
            return rows
        is_most = listed.is_most and rows.is_exact
        return Count(rows.rows + listed.rows, is_exact=False, is_most=is_most)

    def count_rows(
        self, queue: str, name: JobList, between: Between | None, shard: int = 0
    ) -> Count:
        """Return how many rows the index has of a list; see :meth:`count`."""
        keys = keys_of(between) or _ALL_JOBS
        answer = self._list(n.list_key(queue, name, shard), keys, Select="COUNT")
        return Count(answer["Count"], is_exact=not answer.get("LastEvaluatedKey"))

    def count_priorities(self, queue: str, shard: int = 0) -> tuple[dict[int, int], bool]:
        """Return how many jobs are ready in each priority, in one call; bounded like :meth:`count`.

        Runs one query that returns only sort keys; it reads a megabyte of the index at most.

        :returns: the numbers by priority, and whether they are exact.
        """
        partition = n.list_key(queue, JobList.READY, shard)
        answer = self._list(partition, _ALL_JOBS, ProjectionExpression="#gsk")
        sort_keys = (read_string(row, n.GSK) for row in answer["Items"])
        counted = Counter(READY_BASE - int(sort_key.partition("#")[0]) for sort_key in sort_keys)
        return dict(counted), not answer.get("LastEvaluatedKey")

    def count_waiting(self, queue: str, shard: int = 0) -> dict[JobState, Count]:
        """Return how many jobs wait in each state, in one call; bounded like :meth:`count`.

        Runs one query that returns only states; it reads a megabyte of the index at most.

        :returns: scheduled, retryable and active ones.
        """
        partition = n.list_key(queue, JobList.WAITING, shard)
        answer = self._list(partition, None, ProjectionExpression=f"#{n.STATE}")
        is_exact = not answer.get("LastEvaluatedKey")
        counted = Counter(read_string(row, n.STATE) for row in answer["Items"])
        return {state: Count(counted[state], is_exact) for state in _WAITING}

    def page_of(
        self,
        partition: str,
        limit: int,
        *,
        between: tuple[str, str] | None = None,
        start: Item | None = None,
        backwards: bool = False,
    ) -> tuple[list[Item], Item]:
        """Return rows of one list of the index, and where the query ended if there are more.

        :param start: a row that the page begins behind; a cursor of another range may name one
            outside of this range, where DynamoDB refuses to begin.
        """
        if start is not None and between is not None:
            low, high = between
            key = read_string(start, n.GSK)
            if (key < low) if backwards else (key > high):
                return [], {}
            start = start if low <= key <= high else None
        more: dict[str, Any] = {} if start is None else {"ExclusiveStartKey": start}
        answer = self._list(partition, between, ScanIndexForward=not backwards, Limit=limit, **more)
        return answer["Items"], answer.get("LastEvaluatedKey", {})

    def _list(self, partition: str, between: tuple[str, str] | None, **options: Any) -> Any:
        """Run one query of a list, or of a part of it."""
        key, values = "#gpk = :gpk", {"gpk": string(partition)}
        if between is not None:
            key += " AND #gsk BETWEEN :low AND :high"
            values |= {"low": string(between[0]), "high": string(between[1])}
        return self.query(key, values, **in_index(**options))


def page_of_jobs(rows: Sequence[Item], cursor: str) -> Page:
    """Return a page of the jobs among some rows."""
    jobs = (row for row in rows if not read_string(row, n.GSK).startswith(PAUSED))
    return Page(tuple(from_row(row) for row in jobs), cursor)


def between_instants(since: Instant, until: Instant) -> tuple[str, str]:
    """Return between which sort keys the waiting jobs are that are due within a time."""
    return n.instant_key(since), n.due_key(until, is_far=True)


def keys_of(between: Between | None) -> tuple[str, str] | None:
    """Return between which sort keys the rows of a time are; None for all."""
    return None if between is None else (n.instant_key(between.since), n.instant_key(between.until))
