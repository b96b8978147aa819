"""What all queues hold and do together (ojs-admin-api, section 10).

What they hold is made of the same counting queries as the statistics of one queue, a bounded number
of them; what they did comes from the counters of each minute, which are kept for a month.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.queues.tallies import MINUTE_MS, Tally, total
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import check_queue
from ojs_aws.ports import Clock, QueueRegistry
from ojs_aws.services.queues.stats import QueueCounts, QueueStatistics

MAX_QUEUES: Final = 50
"""Queues that one request counts: eight queries each."""

MAX_POINTS: Final = 1500
"""Points of a time series: a day of minutes."""

MAX_MINUTES: Final = 45_000
"""Minutes of a time series, times queues: a month of one queue, a day of thirty."""

RECENT_MS: Final = 300_000
"""What the throughput is measured over."""

PERIODS: Final[Mapping[str, int]] = {
    "1m": 60_000,
    "5m": 300_000,
    "1h": 3_600_000,
    "1d": 86_400_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """All queues together.

    :ivar queues: how many there are.
    :ivar paused: how many of them are paused.
    :ivar counted: how many of them the numbers cover, the first ones by name.
    :ivar jobs: by state, and ``dead_letter`` among the discarded.
    :ivar by_queue: of each counted queue what it holds, and what it did in the last five minutes.
    :ivar recent: what they did in the last five minutes that are over.
    :ivar is_exact: False when any number is at least what is said.
    """

    queues: int
    paused: int
    counted: int
    jobs: Mapping[str, int]
    recent: Tally
    by_queue: Mapping[str, tuple[QueueCounts, Tally]]
    is_exact: bool
    computed_at: Instant


@dataclass(frozen=True, slots=True)
class Point:
    """What was done in one period, which begins at ``at``."""

    at: Instant
    tally: Tally


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over queues."""

    of: QueueStatistics
    queues: QueueRegistry
    clock: Clock

    def totals(self, queue: str = "") -> Totals:
        """Count all queues, up to fifty of them, or one."""
        now = self.clock.now()
        infos = [info for info in self.queues.all() if queue in ("", info.name)]
        names = [info.name for info in infos]
        counted = names[:MAX_QUEUES]
        jobs: Counter[str] = Counter()
        recent = Tally()
        by_queue: dict[str, tuple[QueueCounts, Tally]] = {}
        is_exact = len(counted) == len(names)
        for name in counted:
            counts = self.of.counts(name)
            jobs.update(counts.counts)
            did = total(each for _, each in self.of.minutes(name, now - RECENT_MS, now))
            recent.merge(did)
            by_queue[name] = (counts, did)
            is_exact = is_exact and not counts.estimated
        return Totals(
            queues=len(names),
            paused=sum(info.paused_at is not None for info in infos),
            counted=len(counted),
            jobs=jobs,
            recent=recent,
            by_queue=by_queue,
            is_exact=is_exact,
            computed_at=now,
        )

    def today(self) -> Tally:
        """Return what all queues did since midnight (UTC): a query for each of up to fifty."""
        return total(self.of.today(info.name) for info in self.queues.all()[:MAX_QUEUES])

    def history(
        self,
        period: str = "5m",
        since: Instant | None = None,
        until: Instant | None = None,
        queue: str = "",
    ) -> list[Point]:
        """What was done in each period of a time range, the oldest first.

        :param period: one of :data:`PERIODS`; points begin at its multiples.
        :param since: an hour ago by default.
        :param until: now by default.
        :raises InvalidRequestError: no such period, or too much for one request.
        """
        if period not in PERIODS:
            raise InvalidRequestError(
                f"The 'period' parameter must be one of {', '.join(PERIODS)}, not {period[:40]!r}.",
                details={"field": "period", "allowed": list(PERIODS), "received": period[:40]},
            )
        step, now = PERIODS[period], self.clock.now()
        end = now if until is None else min(until, now)
        begin = (end - PERIODS["1h"] if since is None else since) // step * step
        names = [check_queue(queue)] if queue else [info.name for info in self.queues.all()]
        points = max(0, -(-(end - begin) // step))
        if points > MAX_POINTS or points * step * len(names) > MAX_MINUTES * MINUTE_MS:
            raise InvalidRequestError(
                f"That is {points} points over {len(names)} queues; one request answers "
                f"{MAX_POINTS} points and reads {MAX_MINUTES} minutes at most.",
                details={"field": "period", "max_points": MAX_POINTS, "max_minutes": MAX_MINUTES},
                hint="Name one queue, a longer period, or a shorter time.",
            )
        found = [Point(Instant(begin + i * step), Tally()) for i in range(points)]
        for name in names if found else ():
            for minute, tally in self.of.minutes(name, begin, begin + points * step - 1):
                found[(minute - begin) // step].tally.merge(tally)
        return found
