"""What all queues hold and do together (ojs-admin-api, section 10).

Made of the same counting queries as the statistics of one queue, a bounded number of them. Nothing
is kept beside the jobs, so the past is known for as long as ended jobs are retained, and how many
were enqueued is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import check_queue
from ojs_aws.ports import Between, Clock, QueueRegistry
from ojs_aws.services.queue_stats import QueueStatistics

MAX_QUEUES: Final = 50
"""Queues that one request counts: ten queries each."""

MAX_POINTS: Final = 200
"""Points of a time series, times queues: three queries each."""

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
    :ivar counted: how many of them the numbers cover, the first ones by name.
    :ivar jobs: by state, and ``dead_letter`` among the discarded.
    :ivar completed: jobs of the last five minutes.
    :ivar failed: jobs discarded in the last five minutes.
    :ivar is_exact: False when any number is at least what is said.
    """

    queues: int
    counted: int
    jobs: Mapping[str, int]
    completed: int
    failed: int
    is_exact: bool
    computed_at: Instant


@dataclass(frozen=True, slots=True)
class Point:
    """What ended in one period, which begins at ``at``."""

    at: Instant
    completed: int
    failed: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over queues."""

    of: QueueStatistics
    queues: QueueRegistry
    clock: Clock

    def totals(self) -> Totals:
        """Count all queues, up to fifty of them."""
        now = self.clock.now()
        names = [info.name for info in self.queues.all()]
        counted = names[:MAX_QUEUES]
        recent = Between(Instant(now - RECENT_MS), now)
        jobs: Counter[str] = Counter()
        completed = failed = 0
        is_exact = len(counted) == len(names)
        for name in counted:
            counts = self.of.counts(name)
            jobs.update(counts.counts)
            done, lost = self.of.ended(name, recent)
            completed, failed = completed + done.rows, failed + lost.rows
            is_exact = is_exact and not counts.estimated and done.is_exact and lost.is_exact
        return Totals(
            queues=len(names),
            counted=len(counted),
            jobs=jobs,
            completed=completed,
            failed=failed,
            is_exact=is_exact,
            computed_at=now,
        )

    def history(
        self,
        period: str = "5m",
        since: Instant | None = None,
        until: Instant | None = None,
        queue: str = "",
    ) -> list[Point]:
        """What ended in each period of a time range, the oldest first.

        :param period: one of :data:`PERIODS`; points begin at its multiples.
        :param since: an hour ago by default.
        :param until: now by default.
        :raises InvalidRequestError: no such period, or too many points for one request.
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
        if points * len(names) > MAX_POINTS:
            raise InvalidRequestError(
                f"That is {points} points over {len(names)} queues; one request counts "
                f"{MAX_POINTS} at most.",
                details={"field": "period", "max_points": MAX_POINTS},
                hint="Name one queue, a longer period, or a shorter time.",
            )
        return [self._point(names, Instant(begin + i * step), step) for i in range(points)]

    def _point(self, names: list[str], at: Instant, step: int) -> Point:
        between = Between(at, Instant(at + step - 1))
        counts = [self.of.ended(name, between) for name in names]
        return Point(
            at,
            sum(done.rows for done, _ in counts),
            sum(lost.rows for _, lost in counts),
            all(done.is_exact and lost.is_exact for done, lost in counts),
        )
