"""Statistics of a queue (HTTP binding, section 11.2; ojs-admin-api, section 6).

Nothing is counted beforehand and nothing is read without a bound: one COUNT query for each list,
which reads a megabyte of the index at most (some thousands of jobs). Below that the numbers are
exact, as far as the index has caught up; beyond it they are at least so many, and named as such.
Durations come from a sample: the jobs that were completed last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Between, Clock, Count, JobList, JobStore

HOUR_MS: Final = 3_600_000
SAMPLE: Final = 50
"""Completed jobs that are read for the durations."""

_LISTS: Final = {
    "available": JobList.READY,
    "pending": JobList.PENDING,
    "completed": JobList.COMPLETED,
    "cancelled": JobList.CANCELLED,
    "dead_letter": JobList.DEAD_LETTER,
}
_WAITING: Final = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """How many jobs a queue has.

    :ivar counts: by state; ``dead_letter`` are those of the discarded that a policy kept.
    :ivar estimated: names of the counts that are at least what is said.
    """

    counts: dict[str, int]
    estimated: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """Jobs that have not ended."""
        names = ("available", "scheduled", "retryable", "active", "pending")
        return sum(self.counts[name] for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """What a queue has, and what it did of late.

    :ivar completed_last_hour: jobs; at least so many when ``counts.estimated`` names it.
    :ivar failed_last_hour: jobs that were discarded.
    :ivar durations_ms: of the sampled executions, shortest first.
    :ivar waits_ms: between enqueueing and start of the sampled executions, shortest first.
    """

    counts: QueueCounts
    completed_last_hour: int
    failed_last_hour: int
    durations_ms: tuple[int, ...]
    waits_ms: tuple[int, ...]
    computed_at: Instant


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """Counts the jobs of queues."""

    store: JobStore
    clock: Clock

    def counts(self, queue: str) -> QueueCounts:
        """Count each list once: seven queries."""
        found = {name: self.store.count(queue, listed) for name, listed in _LISTS.items()}
        waiting = self.store.count_waiting(queue)
        found |= {str(state): waiting[state] for state in _WAITING}
        discarded = self.store.count(queue, JobList.DISCARDED)
        found["discarded"] = _plus(discarded, found["dead_letter"])
        return QueueCounts(
            counts={name: count.rows for name, count in found.items()},
            estimated=tuple(name for name, count in found.items() if not count.is_exact),
        )

    def __call__(self, queue: str) -> QueueStats:
        """Count, and look at the last hour: twelve calls, whatever the queue holds."""
        now = self.clock.now()
        hour = Between(Instant(now - HOUR_MS), now)
        counts = self.counts(queue)
        completed, failed = self.ended(queue, hour)
        recent = {"completed_last_hour": completed, "failed_last_hour": failed}
        estimated = tuple(name for name, count in recent.items() if not count.is_exact)
        sample = self._sample(queue)
        return QueueStats(
            counts=QueueCounts(counts=counts.counts, estimated=(*counts.estimated, *estimated)),
            completed_last_hour=completed.rows,
            failed_last_hour=failed.rows,
            durations_ms=_spans(sample, _duration),
            waits_ms=_spans(sample, _wait),
            computed_at=now,
        )

    def ended(self, queue: str, between: Between) -> tuple[Count, Count]:
        """How many jobs were completed and how many discarded in a time range: three queries.

        Those whose retention is over are not counted any more.
        """
        return self.store.count(queue, JobList.COMPLETED, between), _plus(
            self.store.count(queue, JobList.DISCARDED, between),
            self.store.count(queue, JobList.DEAD_LETTER, between),
        )

    def _sample(self, queue: str) -> list[JobRecord]:
        rows = self.store.listed(queue, JobList.COMPLETED, SAMPLE).jobs
        return list(self.store.load_many([row.id for row in rows]).values()) if rows else []


def percentile(values: Sequence[int], share: float) -> int | None:
    """The value below which a share of the sorted values lies; None where there are none."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def _plus(one: Count, other: Count) -> Count:
    return Count(one.rows + other.rows, one.is_exact and other.is_exact)


def _spans(jobs: Sequence[JobRecord], span: Callable[[JobRecord], int | None]) -> tuple[int, ...]:
    return tuple(sorted(found for job in jobs if (found := span(job)) is not None))


def _duration(job: JobRecord) -> int | None:
    if job.started_at is None or job.completed_at is None:
        return None
    return job.completed_at - job.started_at


def _wait(job: JobRecord) -> int | None:
    if job.started_at is None or job.enqueued_at is None:
        return None
    return max(0, job.started_at - job.enqueued_at)
