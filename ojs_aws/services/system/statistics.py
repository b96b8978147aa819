"""Counts what all queues hold and do together (ojs-admin-api, section 10).

What they hold and did of late comes from their totals, which follow the table's stream, and so in
a few calls whatever the number of queues (decision 62). What they did before comes from the
counters of each minute, which are kept for a month.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.bindings import Suspension
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.queues.tallies import MINUTE_MS, QueueTotals, StreamLag, Tally, minute_of, total
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.stats import COUNTED, QueueCounts, QueueStatistics

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry

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
    """Counts all queues together.

    :ivar queues: how many there are.
    :ivar paused: since when those are paused that are.
    :ivar suspended: the suspended bindings of those that have some.
    :ivar counted: how many of them had their lists counted, so that jobs from before they had
        totals are in the numbers.
    :ivar jobs: by state, and ``dead_letter`` among the discarded.
    :ivar by_queue: of each queue what it holds, and what it did in the last five minutes.
    :ivar times: of each queue how long jobs waited and ran in the last five to ten minutes, or in
        the last five where only one queue was asked for.
    :ivar paces: of each queue what it did in this minute and the one before, ``pace_ms`` long;
        nothing where only one queue was asked for.
    :ivar lag: how late changes of late were counted; None if there were none.
    :ivar recent: what they did in the last five minutes that are over.
    :ivar today: what they did since midnight (UTC).
    :ivar estimated: the names of ``jobs`` that may be off.
    """

    queues: int
    paused: Mapping[str, Instant]
    suspended: Mapping[str, Mapping[str, Suspension]]
    counted: int
    jobs: Mapping[str, int]
    recent: Tally
    today: Tally
    by_queue: Mapping[str, tuple[QueueCounts, Tally]]
    times: Mapping[str, Tally]
    paces: Mapping[str, Tally]
    pace_ms: int
    lag: StreamLag | None
    estimated: tuple[str, ...]
    computed_at: Instant


@dataclass(frozen=True, slots=True)
class Point:
    """Holds what was done in one period, which begins at ``at``."""

    at: Instant
    tally: Tally


@dataclass(frozen=True, slots=True)
class History:
    """Holds what was done in each period of a time range.

    :ivar points: of all queues together, the oldest first.
    :ivar growth: by how many jobs each queue grew in each period: what came less what ended. A
        queue that did nothing is left out.
    """

    points: Sequence[Point]
    growth: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over queues."""

    of: QueueStatistics
    queues: QueueRegistry
    clock: Clock

    def totals(self, queue: str = "", sees: Callable[[str], bool] = lambda _: True) -> Totals:
        """Return what all queues hold, from their totals; one queue's lists are counted.

        :param sees: says which queues are meant.
        """
        now = self.clock.now()
        infos = [each for each in self.queues.all() if queue in ("", each.name) and sees(each.name)]
        kept = {} if queue else self.of.tallies().totals()
        found = {info.name: kept.get(info.name, QueueTotals()) for info in infos}
        by_queue: dict[str, tuple[QueueCounts, Tally]] = {}
        times: dict[str, Tally] = {}
        paces: dict[str, Tally] = {}
        before = Instant(minute_of(now) - MINUTE_MS)
        today = Tally()
        for name, totals in found.items():
            paces[name] = totals.since(before)
            if queue:
                did = total(each for _, each in self.of.minutes(name, now - RECENT_MS, now))
                by_queue[name] = (self.of.counts(name), did)
                times[name] = did
                today.merge(self.of.today(name))
            else:
                by_queue[name] = (_counts(totals), totals.since(Instant(now - RECENT_MS)))
                times[name] = totals.times(now)
                today.merge(totals.on_day(now))
        jobs: Counter[str] = Counter()
        for counts, _ in by_queue.values():
            jobs.update(counts.counts)
        is_counted = [bool(queue) or each.counted_at is not None for each in found.values()]
        return Totals(
            queues=len(infos),
            paused={each.name: each.paused_at for each in infos if each.paused_at is not None},
            suspended={each.name: each.suspended for each in infos if each.suspended},
            counted=sum(is_counted),
            jobs=jobs,
            recent=total(did for _, did in by_queue.values()),
            today=today,
            by_queue=by_queue,
            times=times,
            paces=paces,
            pace_ms=now - before,
            lag=_lag(found.values(), now),
            estimated=tuple(sorted({n for each, _ in by_queue.values() for n in each.estimated})),
            computed_at=now,
        )

    def history(
        self,
        period: str = "5m",
        since: Instant | None = None,
        until: Instant | None = None,
        queue: str = "",
        sees: Callable[[str], bool] = lambda _: True,
    ) -> History:
        """Return what was done in each period of a time range.

        :param period: one of :data:`PERIODS`; points begin at its multiples.
        :param since: an hour ago by default.
        :param until: now by default.
        :param sees: says which queues are meant.
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
        there = [check_queue(queue)] if queue else [info.name for info in self.queues.all()]
        names = [name for name in there if sees(name)]
        points = max(0, -(-(end - begin) // step))
        if points > MAX_POINTS or points * step * len(names) > MAX_MINUTES * MINUTE_MS:
            raise InvalidRequestError(
                f"That is {points} points over {len(names)} queues; one request answers "
                f"{MAX_POINTS} points and reads {MAX_MINUTES} minutes at most.",
                details={"field": "period", "max_points": MAX_POINTS, "max_minutes": MAX_MINUTES},
                hint="Name one queue, a longer period, or a shorter time.",
            )
        found = [Point(Instant(begin + i * step), Tally()) for i in range(points)]
        growth: dict[str, list[int]] = {}
        for name in names if found else ():
            for minute, tally in self.of.minutes(name, begin, begin + points * step - 1):
                index = (minute - begin) // step
                found[index].tally.merge(tally)
                growth.setdefault(name, [0] * points)[index] += tally.growth
        return History(found, growth)


def _lag(found: Iterable[QueueTotals], now: Instant) -> StreamLag | None:
    """Return the longest lag of the last five minutes, and when changes were counted last."""
    seen = [each.lag for each in found if each.lag is not None]
    if not seen:
        return None
    recent = [each.ms for each in seen if each.at >= now - RECENT_MS]
    last = max(seen, key=lambda each: each.at)
    return StreamLag(last.at, max(recent, default=last.ms))


def _counts(totals: QueueTotals) -> QueueCounts:
    """Return the jobs of a queue from its totals."""
    jobs = {name: max(0, totals.jobs.get(name, 0)) for name in COUNTED}
    return QueueCounts(counts=jobs, estimated=COUNTED)
