"""Counts the jobs each queue holds and did recently, in one small record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.queues.tallies import Tally, Times, minute_of, range_of, total
from ojs_aws.domain.timestamps import Instant

DAY_MS: Final = 86_400_000

RECENT_MINUTES: Final = 5
"""Minutes before the newest one that are remembered."""

WINDOW_MS: Final = 300_000
"""How long times of waiting and running are summed up together; two such windows are kept."""

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

    def since(self, begin: Instant) -> Tally:
        """Return the counts of the minutes that begin at an instant or later."""
        found = Tally()
        newest = () if self.minute is None else ((self.minute, self.tally),)
        for minute, tally in (*self.past, *newest):
            if minute >= begin:
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
