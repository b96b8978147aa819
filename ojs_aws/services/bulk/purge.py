"""Purges queues (ojs-admin-api, section 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lists import Between, JobList, ListedJob
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import NO_TIME, BulkAction, BulkEngine, BulkReport, BulkStatus
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

_GONE: Final = frozenset({BulkStatus.DONE, BulkStatus.NOT_FOUND})

_ENDED: Final = frozenset(state for state in JobState if state.is_terminal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Says what to purge.

    :ivar until: only jobs that ended before; jobs that have not ended stay then.
    :ivar is_dry: change nothing, and count what would be changed.
    :ivar by: who does it.
    """

    queue: str
    states: tuple[JobState, ...]
    until: Instant | None = None
    is_dry: bool = False
    by: Actor | None = None


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """Counts what one request did, or would do.

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

    engine: BulkEngine
    queues: Queues

    def __call__(self, wanted: Purge, cursor: str = "") -> PurgeReport:
        """Purge the next jobs of a queue: ended jobs are deleted, others cancelled.

        :param cursor: of the request before.
        :raises NotFoundError: there is no such queue.
        :raises InvalidRequestError: a cursor that is none.
        """
        self.queues.get(wanted.queue)
        lists = self._lists(wanted)
        name, _, inner = cursor.partition("!")
        at = next((i for i, each in enumerate(lists) if each.value == name), 0)
        for position in range(at, len(lists)):
            begin = inner if position == at else ""
            page = self.engine.changer.store.listed(
                wanted.queue,
                lists[position],
                MAX_PURGED,
                cursor=begin,
                newest_first=False,
                between=None
                if wanted.until is None
                else Between(Instant(0), Instant(wanted.until - 1)),
            )
            if page.jobs or page.cursor:  # a page may be empty, and more jobs behind it
                deleted, cancelled, is_left = self._purge(page.jobs, wanted)
                if is_left:
                    return PurgeReport(deleted, cancelled, f"{lists[position].value}!{begin}")
                following = lists[position : position + 1] if page.cursor else lists[position + 1 :]
                more = f"{following[0].value}!{page.cursor}" if following else ""
                return PurgeReport(deleted, cancelled, more)
        return PurgeReport()

    def _lists(self, wanted: Purge) -> list[JobList]:
        """Return the lists to look at, whatever the order of the states: those of ended jobs last.

        So a purge of waiting and of cancelled jobs leaves neither, also if a part of it is repeated
        because its answer was lost. In the other order, a repetition alone would delete the jobs
        that were cancelled by the first try.
        """
        found = [
            each
            for state in sorted(wanted.states, key=lambda state: state.is_terminal)
            if wanted.until is None or state.is_terminal
            for each in LISTS[state]
        ]
        return list(dict.fromkeys(found))

    def _purge(self, rows: Sequence[ListedJob], wanted: Purge) -> tuple[int, int, bool]:
        """Delete or cancel the jobs that are still wanted.

        Rows that list completed jobs together are removed when all these jobs are gone.

        :returns: how many were deleted and cancelled, and whether the time ended before the others.
        :raises OjsError: the backend failed at one of them; the same cursor leads to it again.
        """
        ended: dict[str, JobRecord] = {}
        others: dict[str, JobRecord] = {}
        store = self.engine.changer.store
        left = store.load_many([row.id for row in rows]) if rows else {}
        for job_id, job in left.items():
            if job.state in wanted.states and job.queue == wanted.queue:
                (ended if job.state.is_terminal else others)[job_id] = job
        if wanted.is_dry:
            return len(ended), len(others), False
        states = frozenset(wanted.states)
        deleted = BulkReport(self.engine.change(BulkAction.DELETE, states & _ENDED, ended))
        cancelled = BulkReport(
            self.engine.change(BulkAction.CANCEL, states - _ENDED, others, by=wanted.by)
        )
        is_left = False
        for outcome in deleted.outcomes + cancelled.outcomes:
            if outcome.problem is None:
                continue
            if outcome.reason != NO_TIME or not deleted.done + cancelled.done:
                raise outcome.problem
            is_left = True
        gone = {each.job_id for each in deleted.outcomes if each.status in _GONE}
        store.unlist([row for row in rows if row.id in gone or row.id not in left])
        return deleted.done, cancelled.done, is_left
