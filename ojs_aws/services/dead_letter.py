"""The dead letters: discarded jobs kept for an operator (ojs-dead-letter; binding, section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.validation import check_job_id, check_queue
from ojs_aws.ports import JobList, JobStore, ListedJob, QueueRegistry
from ojs_aws.services.changing import Changing
from ojs_aws.services.waking import Waking

MAX_OFFSET: Final = 1000


@dataclass(frozen=True, slots=True)
class DeadLetterPage:
    """A page of dead letters, newest first within a queue.

    :ivar cursor: empty on the last page.
    :ivar total: dead letters known of so far: exact on the last page, else one more than shown.
    """

    jobs: tuple[JobRecord, ...]
    cursor: str
    total: int


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Lists, retries and deletes dead letters."""

    store: JobStore
    queues: QueueRegistry
    changing: Changing
    waking: Waking

    def list(
        self, queue: str | None = None, limit: int = 50, cursor: str = "", offset: int = 0
    ) -> DeadLetterPage:
        """Dead letters of one queue, or of all queues one after the other.

        :param offset: rows to skip, at most 1000; a cursor costs less.
        :raises InvalidRequestError: a bad queue name, offset or cursor.
        """
        if not 0 <= offset <= MAX_OFFSET:
            raise InvalidRequestError(
                f"The 'offset' parameter must be from 0 to {MAX_OFFSET}; received {offset}.",
                details={"field": "offset", "received": offset},
                hint="Go on with 'cursor' instead.",
            )
        rows, following = self._rows(queue, limit + offset, cursor)
        rows = rows[offset:]
        jobs = self.store.load_many([row.id for row in rows]) if rows else {}
        shown = tuple(self.store.fill(jobs[row.id]) for row in rows if row.id in jobs)
        dead = tuple(job for job in shown if job.state is JobState.DISCARDED)
        return DeadLetterPage(dead, following, offset + len(dead) + bool(following))

    def _rows(self, queue: str | None, limit: int, cursor: str) -> tuple[Sequence[ListedJob], str]:
        if queue is not None:
            page = self.store.listed(check_queue(queue), JobList.DEAD_LETTER, limit, cursor=cursor)
            return list(page.jobs), page.cursor
        names = [info.name for info in self.queues.all()]
        current, mark, inner = cursor.partition("!")
        if cursor:
            if not mark or current not in names:
                raise InvalidRequestError(
                    "The 'cursor' parameter is not one that this server gave out.",
                    details={"field": "cursor"},
                    hint="Pass next_cursor of the previous page as it is.",
                )
            names = [name for name in names if name >= current]
        rows: list[ListedJob] = []
        for position, name in enumerate(names):
            start = inner if name == current else ""
            page = self.store.listed(name, JobList.DEAD_LETTER, limit - len(rows), cursor=start)
            rows += page.jobs
            if page.cursor:
                return rows, f"{name}!{page.cursor}"
            if len(rows) >= limit:
                rest = names[position + 1 :]
                return rows, f"{rest[0]}!" if rest else ""
        return rows, ""

    def retry(self, job_id: str) -> JobRecord:
        """Make a discarded job available again: attempt 0, errors cleared, history kept apart.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        clock = self.changing.clock
        change = self.changing.apply(
            check_job_id(job_id),
            lambda job, now: lifecycle.retry_discarded(job, now, clock.order()),
        )
        self.waking.cover([change.after], clock.now())
        return self.store.fill(change.after)

    def delete(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """
        now = self.changing.clock.now()
        job = self.changing.load(check_job_id(job_id), now)
        lifecycle.require(job, "delete", JobState.DISCARDED)
        self.store.delete(job)
