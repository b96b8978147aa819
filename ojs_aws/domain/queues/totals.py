"""Counts the jobs each queue holds and did recently, in one small record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.queues.tallies import Tally, Times, minute_of, range_of
from ojs_aws.domain.timestamps import Instant

DAY_MS: Final = 86_400_000

RECENT_MINUTES: Final = 5
"""Minutes before the newest one that are remembered."""

Minutes = tuple[tuple[Instant, Tally], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTotals:
    """Counts a queue's jobs by state.

    :ivar jobs: by state, and ``dead_letter`` among the discarded. A number may be below zero until
        the queue is counted for the first time.
    :ivar minute: the newest minute in which anything changed.
    :ivar tally: what was done in it.
    :ivar past: the minutes before it in which anything was done, the oldest first, summed up.
    :ivar today: what was done on the day of ``minute`` (UTC) before ``minute``, summed up.
    :ivar version: differs after each change.
    :ivar counted_at: when the lists were counted; zero when changes came meanwhile.
    :ivar at_least: the names of ``jobs`` that the lists were too long for.
    """

    jobs: Mapping[str, int] = field(default_factory=dict)
    minute: Instant | None = None
    tally: Tally = field(default_factory=Tally)
    past: Minutes = ()
    today: Tally = field(default_factory=Tally)
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


def summed_up(tally: Tally) -> Tally:
    """Return a tally with its counts and its average run time only."""
    runs = tally.runs
    ranges = Counter({range_of(runs.average_ms or 0): runs.count} if runs.count else {})
    return Tally(counts=Counter(tally.counts), runs=Times(runs.total_ms, ranges))
