"""How late a job may be held by a worker that is willing, once the world has healed.

What the sweep repairs would be invisible otherwise: a message that is never sent costs minutes, and
no job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant

TICK_MS: Final = 31_000
POLLED: Final = 2
"""Ticks within which a worker that polls finds a job that is due."""

NEW: Final = 0
"""Whole ticks after which a message has brought a job that was enqueued after the healing began."""

REPAIRED: Final = 6
"""The same for a job that became due after that, whose message may have been lost before."""

HIDDEN: Final = 70
"""The same for a job that was due before: workers that failed at their start may have hidden its
messages for half an hour."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """Bounds on how long jobs stay due.

    :ivar began: when the world healed.
    :ivar is_polled: whether a worker polls; else only messages wake workers.
    :ivar behind: the bounds of queues in which older jobs wait, or messages are hidden: a message
        that comes runs the first in line, and the job for which it was sent waits as long as that
        one would have. Until nothing waits there.
    :ivar hidden_until: when the last message of a queue came back that was hidden, or delayed, when
        the world healed. Until then the sweep takes them for those of jobs that a limit makes wait.
    :ivar full_at: when the limit of a job was last seen full: a function that never answers keeps
        the slot of its job until the reservation ends.
    """

    began: int
    is_polled: bool
    behind: dict[str, int] = field(default_factory=dict)
    hidden_until: Mapping[str, int] = field(default_factory=dict)
    full_at: dict[str, int] = field(default_factory=dict)

    def look(self, jobs: Iterable[JobRecord], now: int) -> list[tuple[JobRecord, Instant]]:
        """Note in which queues jobs wait that are not new, and return those that are due."""
        due = [(job, since) for job in jobs if (since := _due_since(job)) and since <= now]
        for queue in self.behind.keys() - {job.queue for job, _ in due}:
            del self.behind[queue]
        for job, since in due:
            if _is_paced(job) or not self._is_new(job):
                own = HIDDEN if since < self.began or self._is_miscounted(job, since) else REPAIRED
                self.behind[job.queue] = max(self.behind.get(job.queue, 0), own)
        return [(job, since) for job, since in due if not _is_paced(job)]

    def problems(self, jobs: Iterable[JobRecord], now: int) -> list[str]:
        """Return what is wrong with jobs that are due for too long."""
        found = []
        jobs = [*jobs]
        taken = Counter(
            key for job in jobs if job.reservation is not None for key in job.reservation.slots
        )
        for job, since in self.look(jobs, now):
            if _is_full(job, taken):
                self.full_at[job.id] = now
            ticks = (now - max(since, self.began, self.full_at.get(job.id, 0))) // TICK_MS
            most = POLLED if self.is_polled else self.behind.get(job.queue, NEW)
            if ticks > most:
                found.append(f"job {job.id[-4:]} is {job.state}, and due for {ticks} ticks")
        return found

    def _is_miscounted(self, job: JobRecord, since: Instant) -> bool:
        """Whether the sweep may take another message for the job's own, which was lost."""
        return job.limit is not None and since < self.hidden_until.get(job.queue, 0)

    def _is_new(self, job: JobRecord) -> bool:
        """Whether the job was enqueued, or activated, without any fault."""
        is_activated = job.scheduled_at is None and (job.enqueued_at or 0) >= self.began
        return not job.attempt and (job.created_at >= self.began or is_activated)


def _is_full(job: JobRecord, taken: Counter[str]) -> bool:
    """Whether as many jobs run as the limit of an available one lets run."""
    limit = job.limit
    if limit is None or limit.concurrency is None or job.state is not JobState.AVAILABLE:
        return False
    return taken[limit.key] >= limit.concurrency


def _due_since(job: JobRecord) -> Instant | None:
    """Return since when a worker could begin the job; None where none can."""
    if job.state is JobState.AVAILABLE:
        return job.enqueued_at
    if job.state is JobState.PENDING or job.state.is_terminal:
        return None
    return deadlines.next_due(job)


def _is_paced(job: JobRecord) -> bool:
    """Whether a limit lets only few such jobs begin within a time."""
    return job.limit is not None and (job.limit.rate is not None or job.limit.throttle is not None)
