"""Lists the jobs of a dict as the index over them does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.ready_keys import ready_since
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Between, Count, Head, JobList, ListedJob, Page
from tests.model.rows import list_of, row_of, row_place


@dataclass
class MemoryJobLists:
    """Keeps jobs in a dict, and lists them.

    :ivar lagging: jobs as the index still shows them.
    :ivar rows_read: how many rows of due jobs were read.
    :ivar completed: jobs that the stream's consumer has listed, and when they completed.
    """

    jobs: dict[str, JobRecord] = field(default_factory=dict)
    lagging: dict[str, JobRecord | None] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    rows_read: int = 0
    queue_limits: dict[str, str] = field(default_factory=dict)
    queue_visibility: dict[str, int] = field(default_factory=dict)
    completed: dict[str, Instant | None] = field(default_factory=dict)

    def is_listed(self, job: JobRecord) -> bool:
        """Return whether a list may have a job; ACK may have left that to the stream's consumer."""
        return not job.is_listing_left or self.completed.get(job.id) == job.completed_at

    def _rows(self, queue: str, name: JobList) -> list[ListedJob]:
        shown = {**self.jobs, **self.lagging}
        rows = []
        for job in shown.values():
            if job is None or job.queue != queue or not self.is_listed(job):
                continue
            listed, key = list_of(job)
            if listed is name:
                rows.append(row_of(job, key))
        return sorted(rows, key=row_place)

    def head(self, queue: str, limit: int) -> Head:
        """The first ready jobs as the index shows them."""
        return Head(
            tuple(self._rows(queue, JobList.READY)[:limit]),
            queue in self.paused,
            self.queue_limits.get(queue, ""),
            self.queue_visibility.get(queue),
        )

    def oldest_ready(self, queue: str) -> Instant | None:
        """Return since when the oldest ready job is ready."""
        rows = self._rows(queue, JobList.READY)
        return min((ready_since(row.sort_key) for row in rows), default=None)

    def due(
        self, queue: str, since: Instant, until: Instant, limit: int, *, cursor: str = ""
    ) -> Page:
        """Return a page of waiting jobs that are due in a range."""
        rows = [
            row
            for row in self._rows(queue, JobList.WAITING)
            if since <= row.due <= until and row_place(row) > cursor
        ]
        page = tuple(rows[:limit])
        self.rows_read += len(page)
        return Page(page, row_place(page[-1]) if len(rows) > limit else "")

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
        """Return a page of a list."""
        rows = [row for row in self._rows(queue, name) if _is_between(row, between)]
        if cursor and cursor.count("|") != 1:
            raise InvalidRequestError("no cursor", details={"field": "cursor"})
        rows.sort(key=lambda row: (row.sort_key, row.id), reverse=newest_first)
        if cursor:
            sort_key, _, job_id = cursor.partition("|")
            rows = [
                row
                for row in rows
                if ((row.sort_key, row.id) < (sort_key, job_id)) is newest_first
                and (row.sort_key, row.id) != (sort_key, job_id)
            ]
        shown = rows[:limit]
        return Page(tuple(shown), self.place_of(shown[-1], name) if len(rows) > limit else "")

    def place_of(self, row: ListedJob, name: JobList) -> str:
        """Return the place of a row."""
        return f"{row.sort_key}|{row.id}"

    def count(self, queue: str, name: JobList, between: Between | None = None) -> Count:
        """Count the rows; of jobs that were listed late, others only know how many at most."""
        rows = [row for row in self._rows(queue, name) if _is_between(row, between)]
        is_late = name is JobList.COMPLETED and any(row.id in self.completed for row in rows)
        return Count(len(rows), is_exact=not is_late, is_most=is_late)

    def count_priorities(self, queue: str) -> tuple[dict[int, int], bool]:
        """Count the ready jobs by priority."""
        rows = self._rows(queue, JobList.READY)
        return dict(Counter(100 - int(row.sort_key.partition("#")[0]) for row in rows)), True

    def count_waiting(self, queue: str) -> dict[JobState, Count]:
        """Count the waiting jobs by state."""
        counted = Counter(row.state for row in self._rows(queue, JobList.WAITING))
        states = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)
        return {state: Count(counted[state]) for state in states}


def _is_between(row: ListedJob, between: Between | None) -> bool:
    return between is None or between.since <= int(row.sort_key) <= between.until
