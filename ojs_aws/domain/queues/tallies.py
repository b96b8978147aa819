"""Counts what a queue holds and did: totals, and tallies of each minute.

Times are kept as counts of ranges that grow by the square root of two, so that tallies add up and a
percentile is known to within a fifth whatever the times are. Averages are exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
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
DAY_MS: Final = 86_400_000
RECENT_MINUTES: Final = 5
"""Minutes before the newest one that are remembered."""
WINDOW_MS: Final = 300_000
"""How long times of waiting and running are summed up together; two such windows are kept."""


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

    @property
    def growth(self) -> int:
        """Return how many more jobs came than ended."""
        return self.counts[TallyKind.ENQUEUED] - sum(self.counts[kind] for kind in _ENDS)

    def __bool__(self) -> bool:
        """Return whether anything was counted."""
        return bool(self.counts) or any(self.held.values())


_KINDS: Final = {
    JobState.ACTIVE: TallyKind.STARTED,
    JobState.COMPLETED: TallyKind.COMPLETED,
    JobState.DISCARDED: TallyKind.FAILED,
    JobState.CANCELLED: TallyKind.CANCELLED,
}
_ENDS: Final = (TallyKind.COMPLETED, TallyKind.FAILED, TallyKind.CANCELLED)
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


Minutes = tuple[tuple[Instant, Tally], ...]


@dataclass(frozen=True, slots=True)
class StreamLag:
    """Says how far behind the changes the counting was.

    :ivar at: when it counted last.
    :ivar ms: for how long the oldest change that it counted then had been committed.
    """

    at: Instant
    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTotals:
    """Counts a queue's jobs by state.

    :ivar jobs: by state, and ``dead_letter`` among the discarded. A number may be below zero until
        the queue is counted for the first time.
    :ivar minute: the newest minute in which anything changed.
    :ivar tally: what was done in it.
    :ivar past: the minutes before it in which anything was done, the oldest first, summed up.
    :ivar today: what was done on the day of ``minute`` (UTC) before ``minute``, summed up.
    :ivar windows: the times of waiting and running before ``minute``, of its window and the window
        before it, the older first.
    :ivar lag: how late the newest changes were counted; None if nobody said it.
    :ivar version: differs after each change.
    :ivar counted_at: when the lists were counted; zero when changes came meanwhile.
    :ivar at_least: the names of ``jobs`` that the lists were too long for.
    """

    jobs: Mapping[str, int] = field(default_factory=dict)
    minute: Instant | None = None
    tally: Tally = field(default_factory=Tally)
    past: Minutes = ()
    today: Tally = field(default_factory=Tally)
    windows: Minutes = ()
    lag: StreamLag | None = None
    version: str = ""
    counted_at: Instant | None = None
    at_least: frozenset[str] = frozenset()

    def before(self, minute: Instant) -> tuple[Minutes, Tally]:
        """Return ``past`` and ``today`` as of a later minute."""
        if self.minute is None:
            return (), Tally()
        done = (*self.past, (self.minute, summed_up(self.tally)))
        is_today = self.minute // DAY_MS == minute // DAY_MS
        return done[-RECENT_MINUTES:], self.on_day(self.minute) if is_today else Tally()

    def windows_before(self, minute: Instant) -> Minutes:
        """Return ``windows`` as of a later minute."""
        found = dict(self.windows)
        if self.minute is not None and (self.tally.waits.ranges or self.tally.runs.ranges):
            window = window_of(self.minute)
            found[window] = total((found.get(window, Tally()), _times_of(self.tally)))
        oldest = window_of(minute) - WINDOW_MS
        return tuple((at, each) for at, each in sorted(found.items()) if at >= oldest)

    def times(self, now: Instant) -> Tally:
        """Return how long jobs waited and ran in the last five to ten minutes."""
        oldest = window_of(now) - WINDOW_MS
        newest = () if self.minute is None else ((self.minute, _times_of(self.tally)),)
        return total(each for at, each in (*self.windows, *newest) if at >= oldest)

    def since(self, begin: Instant, end: Instant | None = None) -> Tally:
        """Return the counts of the minutes that begin at an instant or later.

        :param end: no minute that begins here, or later, counts.
        """
        found = Tally()
        newest = () if self.minute is None else ((self.minute, self.tally),)
        for minute, tally in (*self.past, *newest):
            if minute >= begin and (end is None or minute < end):
                found.merge(tally)
        return found

    def on_day(self, now: Instant) -> Tally:
        """Return the counts of an instant's day (UTC); nothing for another day."""
        found = Tally()
        if self.minute is not None and self.minute // DAY_MS == now // DAY_MS:
            found.merge(self.today)
            found.merge(self.tally)
        return summed_up(found)

    def is_quiet(self, now: Instant) -> bool:
        """Return True if nothing changed in this minute and the one before it."""
        return self.minute is None or self.minute < minute_of(Instant(now)) - 60_000


def window_of(at: Instant) -> Instant:
    """Return when the window of an instant begins."""
    return Instant(at // WINDOW_MS * WINDOW_MS)


def _times_of(tally: Tally) -> Tally:
    """Return the ranges of a tally's times: no counts, and no sums."""
    waits, runs = (Times(ranges=Counter(each.ranges)) for each in (tally.waits, tally.runs))
    return Tally(waits=waits, runs=runs)


def summed_up(tally: Tally) -> Tally:
    """Return a tally with its counts and its average run time only."""
    runs = tally.runs
    ranges = Counter({range_of(runs.average_ms or 0): runs.count} if runs.count else {})
    return Tally(counts=Counter(tally.counts), runs=Times(runs.total_ms, ranges))
