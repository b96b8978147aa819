"""Counts what queues did, from the committed changes in the table's stream.

One write for each queue and minute of a batch: what the queue did, and what it holds now. A change
counts once it will not come again, so a repeat costs nothing but after a process died between this
write and its answer: such a batch is known by its token, unless another shard's came in between
(decision 34).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues.tallies import Tally, minute_of
from ojs_aws.domain.queues.totals import StreamLag
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Clock, Tallies

_log = logging.getLogger(__name__)


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
                _log.warning("Could not count what queue %s did", queue, exc_info=True)
