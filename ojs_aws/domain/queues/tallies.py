"""Counts what a queue did: jobs that came and ended, how long they waited and ran.

Times are kept as counts of ranges that grow by the square root of two, so that tallies add up and a
percentile is known to within a fifth whatever the times are. Averages are exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.lifecycle import is_requeue
from ojs_aws.domain.timestamps import Instant

MINUTE_MS: Final = 60_000

TOP: Final = 64
"""The last range of times: everything above 36 days."""

_PER_OCTAVE: Final = 2

DEAD_LETTER: Final = "dead_letter"
"""Counts those of the discarded jobs that a policy keeps."""


class TallyKind(StrEnum):
    """Names what is counted."""

    ENQUEUED = "enqueued"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRIED = "retried"
    CANCELLED = "cancelled"


def range_of(milliseconds: int) -> int:
    """Return the number of the range that a time falls into."""
    if milliseconds < 1:
        return 0
    return min(TOP, 1 + int(_PER_OCTAVE * math.log2(milliseconds)))


def typical(number: int) -> int:
    """Return the middle of a range in milliseconds."""
    return 0 if number == 0 else round(2 ** ((number - 0.5) / _PER_OCTAVE))


@dataclass(slots=True)
class Times:
    """Counts how long many jobs took.

    :ivar total_ms: their sum.
    :ivar ranges: how many belong to each range.
    """

    total_ms: int = 0
    ranges: Counter[int] = field(default_factory=Counter)

    def add(self, milliseconds: int) -> None:
        """Count one time; negative times, which clock differences cause, are ignored."""
        self.total_ms += max(0, milliseconds)
        self.ranges[range_of(milliseconds)] += 1

    def merge(self, other: Times) -> None:
        """Add the times that another one counted."""
        self.total_ms += other.total_ms
        self.ranges.update(other.ranges)

    @property
    def count(self) -> int:
        """Return how many times were counted."""
        return sum(self.ranges.values())

    @property
    def average_ms(self) -> int | None:
        """Return the average, rounded; None if there are no times."""
        return round(self.total_ms / self.count) if self.count else None

    def percentile_ms(self, share: float) -> int | None:
        """Return the time below which this share lies, to within a fifth; None without times."""
        left = int(self.count * share)
        for number in sorted(self.ranges):
            left -= self.ranges[number]
            if left < 0:
                return typical(number)
        return typical(max(self.ranges)) if self.ranges else None


@dataclass(slots=True)
class Tally:
    """Counts what one queue did.

    :ivar counts: jobs that came or ended, and executions that began.
    :ivar waits: between a job's becoming available and its start.
    :ivar runs: of the executions that completed.
    :ivar held: how many more jobs it has than before, by state and ``dead_letter``.
    """

    counts: Counter[TallyKind] = field(default_factory=Counter)
    waits: Times = field(default_factory=Times)
    runs: Times = field(default_factory=Times)
    held: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        """Add what another one counted."""
        self.counts.update(other.counts)
        self.waits.merge(other.waits)
        self.runs.merge(other.runs)
        self.held.update(other.held)

    def hold(self, job: JobRecord, amount: int) -> None:
        """Count one job more, or one less, in the job's state."""
        for name in names_of(job):
            self.held[name] += amount

    def count(self, before: JobRecord | None, after: JobRecord) -> None:
        """Count one committed change of a job's state; other changes count nothing."""
        if before is None:
            self.counts[TallyKind.ENQUEUED] += 1
        state = after.state
        if before is not None and before.state is state:
            return
        kind = _KINDS.get(state)
        if before is not None and before.state is JobState.ACTIVE and state in _AGAIN:
            kind = None if is_requeue(before, after) else TallyKind.RETRIED
        if kind is None:
            return
        self.counts[kind] += 1
        if after.started_at is None:
            return
        if kind is TallyKind.STARTED:
            self.waits.add(after.started_at - (after.enqueued_at or after.created_at))
        elif kind is TallyKind.COMPLETED and after.completed_at is not None:
            self.runs.add(after.completed_at - after.started_at)

    def __bool__(self) -> bool:
        """Return whether anything was counted."""
        return bool(self.counts) or any(self.held.values())


_KINDS: Final = {
    JobState.ACTIVE: TallyKind.STARTED,
    JobState.COMPLETED: TallyKind.COMPLETED,
    JobState.DISCARDED: TallyKind.FAILED,
    JobState.CANCELLED: TallyKind.CANCELLED,
}

_AGAIN: Final = frozenset({JobState.AVAILABLE, JobState.RETRYABLE})


def names_of(job: JobRecord) -> tuple[str, ...]:
    """Return what a job counts as: its state, and ``dead_letter`` if a policy keeps it."""
    state = str(job.state)
    is_dead = job.state is JobState.DISCARDED and job.is_dead_letter
    return (state, DEAD_LETTER) if is_dead else (state,)


def minute_of(at: Instant) -> Instant:
    """Return when the minute of an instant begins."""
    return Instant(at // MINUTE_MS * MINUTE_MS)


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of some tallies."""
    summed = Tally()
    for each in tallies:
        summed.merge(each)
    return summed
