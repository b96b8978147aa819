"""Keeps the totals of queues right: counts the lists once, and later once a day.

Totals follow the stream. They know nothing of the jobs that were there before the first change
that was counted, and miss a change whose count AWS did not take. So the tick counts the lists, some
queues at a time, and corrects the totals by the difference: of a new queue at once, because a
number that is off by a few is better than none, and once more as soon as nothing has changed in it
for a minute, because then nothing is on its way.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.queues.tallies import MINUTE_MS
from ojs_aws.domain.queues.totals import DAY_MS, QueueTotals
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Clock, Tallies
from ojs_aws.services.queues.stats import MAX_CHECKED, QueueCounts, QueueStatistics

MAX_LOOKS: Final = 20
"""Queues whose totals one tick reads."""

MAX_COUNTED: Final = 10
"""Queues whose lists one tick counts."""

BUSY_MS: Final = 600_000
"""A queue that is due but busy is looked at again after this long."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TotalsRecount:
    """Counts the lists of queues whose totals are new or a day old.

    What this process knows of queues saves calls; another one begins without it.

    :ivar _next: when the totals of a queue are read again.
    :ivar _found: the version and the differences that the last count of a queue found.
    """

    tallies: Callable[[], Tallies]
    statistics: Callable[[], QueueStatistics]
    clock: Clock
    _next: dict[str, Instant] = field(default_factory=dict)
    _found: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)

    def tick(self, queues: Iterable[str], is_over: Callable[[], bool]) -> None:
        """Count some of the queues that are due, others with each tick.

        :param is_over: whether no more work may begin.
        """
        now = self.clock.now()
        due = [queue for queue in queues if self._next.get(queue, 0) <= now]
        due.sort(key=lambda queue: zlib.crc32(f"{queue} {now // MINUTE_MS}".encode()))
        counted = 0
        for queue in due[:MAX_LOOKS]:
            if counted == MAX_COUNTED or is_over():
                break
            try:
                seen = self.tallies().load(queue)
                if self._is_due(queue, seen):
                    counted += 1
                    self._count(queue, seen)
            except OjsError:
                _log.warning("Could not count queue %s", queue, exc_info=True)

    def _is_due(self, queue: str, seen: QueueTotals) -> bool:
        """Return True if the lists must be counted now; else remember when to look again."""
        now = self.clock.now()
        if seen.counted_at is None:
            return True
        is_fresh = seen.counted_at + DAY_MS > now
        if is_fresh or not seen.is_quiet(now):
            self._next[queue] = Instant(seen.counted_at + DAY_MS if is_fresh else now + BUSY_MS)
            return False
        return True

    def _count(self, queue: str, seen: QueueTotals) -> None:
        """Count the lists and correct the totals.

        Who finds a difference the first time waits for the next tick, which finds the same if it
        is not a change that was on its way.
        """
        now = self.clock.now()
        statistics = self.statistics()
        found = statistics.checked(queue, statistics.counts(queue), MAX_CHECKED)
        is_first = seen.counted_at is None
        changes = _changes(found, seen.jobs, is_first=is_first)
        if changes and not is_first and self._found.get(queue) != (seen.version, changes):
            self._found[queue] = (seen.version, changes)
            return
        at = Instant(0) if is_first else now
        at_least = set(found.estimated) - set(found.at_most)
        if not self.tallies().correct(queue, seen, changes, at, at_least):
            return
        self._next[queue] = Instant(at + DAY_MS)
        if changes and not is_first:
            _log.warning("Corrected the totals of queue %s by %s", queue, changes)


def _changes(found: QueueCounts, known: Mapping[str, int], *, is_first: bool) -> dict[str, int]:
    """Return by how much the numbers are wrong, as far as that is certain.

    A count that is at least so many lowers no number. One that is at most so many raises none,
    unless the queue was never counted before.
    """
    changes = {name: number - known.get(name, 0) for name, number in found.counts.items()}
    unsure = set(found.estimated) - set(found.at_most)
    ceilings = set() if is_first else set(found.at_most)
    return {
        name: amount
        for name, amount in changes.items()
        if (amount > 0 and name not in ceilings) or (amount < 0 and name not in unsure)
    }
