"""Purging queues (ojs-admin-api, section 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Between, JobList, JobStore, StaleJobError
from ojs_aws.services.jobs.change import JobChanger
from ojs_aws.services.queues.service import Queues

MAX_PURGED: Final = 100
"""Jobs that one request looks at; the cursor goes on."""

LISTS: Final[Mapping[JobState, Sequence[JobList]]] = {
    JobState.COMPLETED: (JobList.COMPLETED,),
    JobState.CANCELLED: (JobList.CANCELLED,),
    JobState.DISCARDED: (JobList.DISCARDED, JobList.DEAD_LETTER),
    JobState.AVAILABLE: (JobList.READY,),
    JobState.PENDING: (JobList.PENDING,),
    JobState.SCHEDULED: (JobList.WAITING,),
    JobState.RETRYABLE: (JobList.WAITING,),
}
"""Where the jobs of a state are listed. Active jobs are their workers' and cannot be purged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What to purge.

    :ivar until: only jobs that ended before; jobs that have not ended stay then.
    :ivar is_dry: change nothing, and count what would be changed.
    """

    queue: str
    states: tuple[JobState, ...]
    until: Instant | None = None
    is_dry: bool = False


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What one request did, or would do.

    :ivar deleted: jobs in terminal states, which are gone.
    :ivar cancelled: the others, which are cancelled now.
    :ivar cursor: where to go on; empty when the purge is over.
    """

    deleted: int = 0
    cancelled: int = 0
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class PurgeQueue:
    """Empties queues, a bounded number of jobs at a time. Any part may be repeated."""

    store: JobStore
    changer: JobChanger
    queues: Queues

    def __call__(self, wanted: Purge, cursor: str = "") -> PurgeReport:
        """Purge the next jobs of a queue: those that have ended are deleted, others cancelled.

        :param cursor: of the request before.
        :raises NotFoundError: there is no such queue.
        :raises InvalidRequestError: a cursor that is none.
        """
        self.queues.get(wanted.queue)
        lists = self._lists(wanted)
        name, _, inner = cursor.partition("!")
        at = next((i for i, each in enumerate(lists) if each.value == name), 0)
        for position in range(at, len(lists)):
            page = self.store.listed(
                wanted.queue,
                lists[position],
                MAX_PURGED,
                cursor=inner if position == at else "",
                newest_first=False,
                between=None if wanted.until is None else _before(wanted.until),
            )
            if page.jobs:
                deleted, cancelled = self._purge([row.id for row in page.jobs], wanted)
                following = lists[position : position + 1] if page.cursor else lists[position + 1 :]
                more = f"{following[0].value}!{page.cursor}" if following else ""
                return PurgeReport(deleted, cancelled, more)
        return PurgeReport()

    def _lists(self, wanted: Purge) -> list[JobList]:
        found = [
            each
            for state in wanted.states
            if wanted.until is None or state.is_terminal
            for each in LISTS[state]
        ]
        return list(dict.fromkeys(found))

    def _purge(self, job_ids: Sequence[str], wanted: Purge) -> tuple[int, int]:
        deleted = cancelled = 0
        for job in self.store.load_many(job_ids).values():
            if job.state not in wanted.states or job.queue != wanted.queue:
                continue
            if job.state.is_terminal:
                deleted += wanted.is_dry or self._delete(job)
            else:
                cancelled += wanted.is_dry or self._cancel(job, wanted)
        return deleted, cancelled

    def _delete(self, job: JobRecord) -> bool:
        try:
            self.store.delete(job)
        except StaleJobError:
            return False
        return True

    def _cancel(self, job: JobRecord, wanted: Purge) -> bool:
        """Cancel a job, unless it has begun or ended meanwhile."""

        def decide(found: JobRecord, now: Instant) -> JobRecord:
            is_wanted = found.state in wanted.states and not found.state.is_terminal
            return lifecycle.cancel(found, now) if is_wanted else found

        try:
            change = self.changer.apply(job.id, decide, start=job)
        except NotFoundError:
            return False
        return change.after is not change.before


def _before(until: Instant) -> Between:
    return Between(Instant(0), Instant(until - 1))
