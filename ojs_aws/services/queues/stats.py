"""Counts what a queue holds and did (HTTP binding, section 11.2; ojs-admin-api, section 6).

One COUNT query for each list counts what a queue holds. It reads at most a megabyte of the index,
which is some thousands of jobs. The number of a list that fits is exact, as far as the index has
caught up. That of a longer list is a lower bound, and ``estimated`` names it. It also names
completed jobs if the stream's consumer lists them (decision 88): some may have been deleted since.

The table's stream reports what a queue did. It is counted for each minute, and one query reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Count, JobList
from ojs_aws.domain.queues.tallies import DAY_MS, MINUTE_MS, Tally, minute_of, total
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.stored_jobs import ListStop

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies

HOUR_MINUTES: Final = 60

MAX_READ: Final = 100
"""How many completed jobs a request reads at most to count them exactly: one call."""

MAX_CHECKED: Final = 1000
"""How many the recount reads, which corrects the stored totals."""

_LISTS: Final = {
    "available": JobList.READY,
    "pending": JobList.PENDING,
    "completed": JobList.COMPLETED,
    "cancelled": JobList.CANCELLED,
    "dead_letter": JobList.DEAD_LETTER,
}
_WAITING: Final = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)

COUNTED: Final = (*_LISTS, *(str(state) for state in _WAITING), str(JobState.DISCARDED))
"""The names of the counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """Holds how many jobs a queue has.

    :ivar counts: by state; ``dead_letter`` counts the discarded jobs that a retry policy keeps.
    :ivar estimated: names of the counts that are not exact: lower bounds, but for ``at_most``.
    :ivar at_most: names of the estimated counts that are upper bounds.
    """

    counts: dict[str, int]
    estimated: tuple[str, ...] = ()
    at_most: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """Return how many jobs have not ended."""
        names = ("available", "scheduled", "retryable", "active", "pending")
        return sum(self.counts[name] for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """Holds what a queue has, and what it did recently.

    :ivar hour: what it did in this minute and the 59 before it.
    :ivar minute: what it did in the last minute that is over.
    """

    counts: QueueCounts
    hour: Tally
    minute: Tally
    computed_at: Instant


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """Counts the jobs of queues."""

    store: JobStore
    tallies: Callable[[], Tallies]
    clock: Clock

    def counts(self, queue: str) -> QueueCounts:
        """Count each list once, and the completed jobs that have no rows in the index.

        This takes eight queries. If such completed jobs are few, another query and a read follow,
        because some of the jobs may have been deleted.
        """
        found = {name: self.store.count(queue, listed) for name, listed in _LISTS.items()}
        waiting = self.store.count_waiting(queue)
        found |= {str(state): waiting[state] for state in _WAITING}
        discarded = self.store.count(queue, JobList.DISCARDED)
        dead = found["dead_letter"]
        found["discarded"] = Count(discarded.rows + dead.rows, discarded.is_exact and dead.is_exact)
        counts = QueueCounts(
            counts={name: count.rows for name, count in found.items()},
            estimated=tuple(name for name, count in found.items() if not count.is_exact),
            at_most=tuple(name for name, count in found.items() if count.is_most),
        )
        return self.checked(queue, counts, MAX_READ)

    def checked(self, queue: str, found: QueueCounts, most: int) -> QueueCounts:
        """Return the counts with the exact number of completed jobs, if these are few.

        The lists may still have jobs that were deleted. So this reads the jobs, a hundred a call.

        :param most: the largest number of completed jobs that is corrected so.
        """
        name = str(JobState.COMPLETED)
        if name not in found.at_most or found.counts[name] > most:
            return found
        there: set[str] = set()
        for page in ListStop(queue, JobList.COMPLETED).pages(self.store):
            jobs = self.store.load_many([row.id for row in page.jobs]) if page.jobs else {}
            there.update(job.id for job in jobs.values() if job.state is JobState.COMPLETED)
        return QueueCounts(
            counts=found.counts | {name: len(there)},
            estimated=tuple(each for each in found.estimated if each != name),
            at_most=tuple(each for each in found.at_most if each != name),
        )

    def __call__(self, queue: str) -> QueueStats:
        """Count the lists and read the counters: nine queries and a read, for any queue size."""
        now = self.clock.now()
        counts, this = self.counts(queue), minute_of(now)
        minutes = dict(self.minutes(queue, this - (HOUR_MINUTES - 1) * MINUTE_MS, this))
        return QueueStats(
            counts=counts,
            hour=total(minutes.values()),
            minute=minutes.get(Instant(this - MINUTE_MS), Tally()),
            computed_at=now,
        )

    def oldest_available(self, queue: str, found: QueueStats) -> Instant | None:
        """Return since when the oldest available job has been so; None if the queue is empty.

        :param found: what was counted of the queue. An empty one costs no call.
        """
        return self.store.oldest_ready(queue) if found.counts.depth else None

    def priorities(self, queue: str) -> tuple[Mapping[int, int], bool]:
        """Return how many available jobs there are of each priority, and whether that is exact."""
        return self.store.count_priorities(queue)

    def today(self, queue: str) -> Tally:
        """Return what a queue did since midnight (UTC): one query and a read."""
        now = self.clock.now()
        return total(tally for _, tally in self.minutes(queue, now // DAY_MS * DAY_MS, now))

    def minutes(self, queue: str, since: int, until: int) -> list[tuple[Instant, Tally]]:
        """Return what a queue did in each minute of a time range.

        This takes a read, and a query for each 4,000 minutes.
        """
        return self.tallies().read(queue, Instant(max(0, since)), Instant(until))
