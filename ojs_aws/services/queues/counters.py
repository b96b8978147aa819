"""Counts what queues did and hold, and counts again what is quiet.

One write for each queue and minute of a batch: what the queue did, and what it holds now. A change
counts once it will not come again, so a repeat costs nothing but after a process died between this
write and its answer: such a batch is known by its token, unless another shard's came in between
(decision 34).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues.config import DEFAULT_POLICY
from ojs_aws.domain.queues.state import Depth, QueueSettings, QueueState
from ojs_aws.domain.queues.tallies import StreamLag, Tally, minute_of
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.depths import Depths
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies

_logger = logging.getLogger(__name__)
QUIET_MS: Final = 45_000
"""How long nothing was counted of a queue before its lists are believed: longer than the index
lags, and than any request takes; ticks are a minute apart, and one of them may come twice."""
RECOUNTED: Final = 1_000_000
"""Jobs that a recount goes through at most."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Holds a committed change of a job.

    :ivar number: names the change.
    :ivar at: when it was committed.
    """

    number: str
    at: Instant
    before: JobRecord | None
    after: JobRecord | None


@dataclass(frozen=True, slots=True)
class QueueCounters:
    """Adds to the counters."""

    tallies: Callable[[], Tallies]
    clock: Clock

    def __call__(self, changes: Iterable[Changed]) -> None:
        """Count changes; what AWS does not accept is logged and missing in the numbers."""
        found: dict[tuple[str, Instant], tuple[Tally, list[str]]] = {}
        oldest = now = self.clock.now()
        for change in changes:
            oldest = min(oldest, change.at)
            for job, amount in ((change.before, -1), (change.after, 1)):
                if job is None:
                    continue
                place = (job.queue, minute_of(change.at))
                tally, numbers = found.setdefault(place, (Tally(), []))
                tally.hold(job, amount)
                if job is change.after:
                    tally.count(change.before, job)
                numbers.append(change.number)
        for (queue, minute), (tally, numbers) in found.items():
            if not tally:
                continue
            token = hashlib.sha256(" ".join(numbers).encode()).hexdigest()[:12]
            try:
                self.tallies().add(queue, minute, tally, token, StreamLag(now, now - oldest))
            except OjsError:
                _logger.warning("Could not count what queue %s did", queue, exc_info=True)


@dataclass(frozen=True, slots=True)
class DepthRecount:
    """Counts the jobs of bounded queues from their lists."""

    depths: Callable[[], Depths]
    clock: Clock
    _quiet: dict[str, tuple[Depth, Instant]] = field(default_factory=dict)

    def bound(self, queue: str, bound: int | None) -> None:
        """Begin to count a queue that has a bound now, or stop it where it has none."""
        depths = self.depths()
        if bound is None:
            depths.forget(queue)
            return
        if depths.load(queue) is None:
            self._begin(queue)

    def _begin(self, queue: str) -> None:
        """Count what the lists hold, unless somebody began before."""
        depths = self.depths()
        depths.correct(queue, depths.count(queue, RECOUNTED), None)

    def tick(
        self, settings: Iterable[QueueSettings], used: Callable[[], Iterable[str]] = tuple
    ) -> dict[str, int]:
        """Recount the bounded queues that were quiet; return by how much each one was wrong.

        :param settings: what was set for each queue, and the default policy.
        :param used: names of the queues there are; asked for where the default policy has a bound.
        """
        corrected = {}
        for queue in _bounded({each.queue: each for each in settings}, used):
            try:
                error = self.recount(queue)
            except Exception:  # whatever it was, the other queues must have their turn
                _logger.exception("Could not recount queue %s", queue)
                continue
            if error:
                corrected[queue] = error
        return corrected

    def recount(self, queue: str) -> int | None:
        """Correct the counter of a bounded queue that nothing was counted of for a while.

        Then nothing is on its way either, and what the lists hold is the truth. One that is not
        counted yet, because it has its bound from the default policy, is counted from now on.

        :returns: by how much it was wrong; None where nobody looked.
        """
        depths = self.depths()
        now = depths.load(queue)
        before = self._quiet.get(queue)
        if now is None:
            self._begin(queue)
            return None
        if before is None or before[0].version != now.version:
            self._quiet[queue] = now, self.clock.now()
            return None
        if self.clock.now() < before[1] + QUIET_MS:
            return None
        counted = depths.count(queue, RECOUNTED)
        if counted != now.jobs and depths.correct(queue, counted, now):
            return now.jobs - counted
        return 0


def _bounded(settings: Mapping[str, QueueSettings], used: Callable[[], Iterable[str]]) -> list[str]:
    """Return the queues that have a bound, of their own or by the default policy."""
    default = settings.get(DEFAULT_POLICY)
    is_default = default is not None and default.members.get("max_size") is not None
    names = {*settings, *(used() if is_default else ())} - {DEFAULT_POLICY}
    return sorted(
        name
        for name in names
        if (own := settings.get(name)) is None
        or (own.state is not QueueState.DELETED and (is_default or "max_size" in own.members))
    )
