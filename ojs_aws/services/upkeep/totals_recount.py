"""Keeps the totals of queues right: counts the lists once, and later once a day.

Totals follow the stream. They know nothing of the jobs that were there before the first change
that was counted, and miss a change whose count AWS did not take. So the tick counts the lists, some
queues at a time, and corrects the totals by the difference.

A difference may also be changes that the stream's consumer has yet to count. So none is corrected
before the consumer has handled the tick that found it, and what was counted since may not explain
it (decision 105).
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.events import HANDLED_MARK
from ojs_aws.domain.queues.tallies import DAY_MS, MINUTE_MS, QueueTotals, minute_of
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.stats import MAX_CHECKED, QueueCounts, QueueStatistics

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
    from ojs_aws.adapters.dynamodb.watermarks import Watermarks

MAX_LOOKS: Final = 20
"""Queues whose totals one tick reads."""

MAX_COUNTED: Final = 10
"""Queues whose lists one tick counts."""

BUSY_MS: Final = 600_000
"""A queue that is due but busy is looked at again after this long."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Difference:
    """Holds by how much the lists of a queue differed from its totals.

    :ivar at: when the lists were counted.
    :ivar totals: what they were compared with.
    """

    at: Instant
    totals: QueueTotals
    changes: Mapping[str, int]

    def is_same(self, now: Difference) -> bool:
        """Return True if nothing was counted since, and the lists still say the same."""
        same = (self.totals.version, self.totals.jobs, self.changes)
        return same == (now.totals.version, now.totals.jobs, now.changes)

    def certain(self, now: Difference) -> dict[str, int]:
        """Return what the changes that were counted since cannot explain.

        In a busy queue it may still be off by as many as those, so it is at least as large.
        """
        limit = self._counted_until(now)
        smaller = {
            name: min(amount, now.changes.get(name, 0), key=abs)
            for name, amount in self.changes.items()
            if amount * now.changes.get(name, 0) > 0
        }
        return {name: amount for name, amount in smaller.items() if abs(amount) > limit}

    def _counted_until(self, now: Difference) -> int:
        """Return an upper bound of how many jobs came to a state or left one meanwhile."""
        since = Instant(minute_of(self.at) - MINUTE_MS)
        before, after = self.totals.jobs, now.totals.jobs
        moved = sum(abs(after.get(name, 0) - before.get(name, 0)) for name in {*before, *after})
        return moved + sum(now.totals.since(since).counts.values())


@dataclass(frozen=True, slots=True)
class TotalsRecount:
    """Counts the lists of queues whose totals are new or a day old.

    What this process knows of queues saves calls; another one begins without it.

    :ivar _next: when the totals of a queue are read again.
    :ivar _found: the differences that the last count of a queue found.
    """

    tallies: Callable[[], Tallies]
    statistics: Callable[[], QueueStatistics]
    clock: Clock
    watermarks: Callable[[], Watermarks]
    _next: dict[str, Instant] = field(default_factory=dict)
    _found: dict[str, Difference] = field(default_factory=dict)

    def tick(self, queues: Iterable[str], is_over: Callable[[], bool]) -> None:
        """Count some of the queues that are due, others with each tick.

        Those of which a difference is to be confirmed come first.

        :param is_over: whether no more work may begin.
        """
        now = self.clock.now()
        due = [queue for queue in queues if self._next.get(queue, 0) <= now]
        due.sort(key=lambda queue: zlib.crc32(f"{queue} {now // MINUTE_MS}".encode()))
        due.sort(key=lambda queue: queue not in self._found)
        handled = self._handled()
        due = [queue for queue in due if not self._is_on_its_way(queue, handled)]
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
                _logger.warning("Could not count queue %s", queue, exc_info=True)

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

    def _handled(self) -> Instant:
        """Return until when the stream's consumer has counted; no call if nobody asks."""
        if not self._found:
            return Instant(0)
        try:
            return self.watermarks().read(HANDLED_MARK) or Instant(0)
        except OjsError:
            _logger.warning("Could not read how far changes are counted", exc_info=True)
            return Instant(0)

    def _is_on_its_way(self, queue: str, handled: Instant) -> bool:
        """Return True while a difference may be changes that the consumer has not come to."""
        return queue in self._found and self._found[queue].at > handled

    def _count(self, queue: str, seen: QueueTotals) -> None:
        """Count the lists and correct the totals by what is certainly wrong.

        Who finds a difference waits for the next tick. A queue that is counted for the first time
        may be busy meanwhile; it is counted again as soon as it is quiet.
        """
        now = self.clock.now()
        statistics = self.statistics()
        found = statistics.checked(queue, statistics.counts(queue), MAX_CHECKED)
        is_first = seen.counted_at is None
        new = Difference(now, seen, _changes(found, seen.jobs, is_first=is_first))
        old = self._found.pop(queue, None)
        changes = new.changes
        if changes and (old is None or not old.is_same(new)):
            if old is None or not is_first:
                self._found[queue] = new
                return
            changes = old.certain(new)
        at = Instant(0) if is_first else now
        at_least = set(found.estimated) - set(found.at_most)
        if not self.tallies().correct(queue, seen, changes, at, at_least):
            return
        self._next[queue] = Instant(at + DAY_MS)
        if changes and not is_first:
            _logger.warning("Corrected the totals of queue %s by %s", queue, dict(changes))


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
