"""Keeps queues within bounds: capacity is taken before jobs are stored (ojs-backpressure).

The depth of a bounded queue is a counter. PUSH adds to it by one conditional write before it stores
a job, so that no number of producers together gets more jobs in than the bound allows; the stream's
consumer subtracts jobs that ended. Queues without a bound pay nothing.

The counter errs for a moment on the safe side: a job that has ended counts until the
stream reports it, and a push that dies between the two writes until the tick has recounted
(``depth_recount``).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.conflicts import QueueIsFullError
from ojs_aws.domain.errors import BackendError, BackendUnavailableError, OjsError, QueueFullError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.queues import Pressure
from ojs_aws.domain.queues.config import Fill, QueueConfig
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.push_settings import PushSettingsCache

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.depths import Depths, Pressures

RETRY_AFTER_S: Final = 1
"""When a rejected producer may try again: about as long as the stream lags."""

REPORT_EVERY_MS: Final = 1000
"""A process writes down its rejections of a queue at most this often."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Capacity:
    """Holds capacity taken for jobs that are about to be stored, by queue."""

    records: Sequence[JobRecord]
    fills: dict[str, Fill] = field(default_factory=dict)
    unused: Counter[str] = field(default_factory=Counter)

    def give_back(self, positions: Iterable[int]) -> None:
        """Give back the capacity of jobs that were not stored, or that replaced others."""
        self.unused.update(
            record.queue
            for record in (self.records[position] for position in positions)
            if record.is_counted
        )


@dataclass(slots=True)
class _Rejections:
    """Counts rejections of a queue that are not written yet."""

    reported_at: Instant
    count: int = 0


@dataclass(frozen=True, slots=True)
class Backpressure:
    """Takes capacity, gives it back, and counts what became of jobs."""

    depths: Callable[[], Depths]
    pressures: Callable[[], Pressures]
    settings: PushSettingsCache
    clock: Clock
    _rejections: dict[str, _Rejections] = field(default_factory=dict)

    @contextmanager
    def capacity(self, records: Sequence[JobRecord]) -> Iterator[Capacity]:
        """Hold capacity for new jobs of bounded queues while they are stored.

        What was not stored gives its capacity back. After a write of which nobody knows whether it
        took effect the capacity stays taken.

        :returns: the capacity, with the jobs as they are to be stored: marked as counted.
        :raises QueueFullError: one of the queues has no room for its jobs; nothing is taken.
        """
        bounds = {
            queue: config
            for queue in sorted({record.queue for record in records})
            if (config := self.settings.of(queue).config).max_size is not None
        }
        if not bounds:  # as most queues are
            yield Capacity(records)
            return
        marked = [
            replace(record, is_counted=True) if record.queue in bounds else record
            for record in records
        ]
        counts = Counter(record.queue for record in records if record.queue in bounds)
        types = {record.queue: record.type for record in records}
        capacity = Capacity(marked, self._take(bounds, counts, types))
        try:
            yield capacity
        except BackendUnavailableError:
            self._return(counts)
            raise
        except BackendError:
            raise  # it may have taken effect
        except Exception as problem:
            self._return(counts - _stored_all_the_same(problem, marked))
            raise
        self._return(capacity.unused)

    def _take(
        self, bounds: Mapping[str, QueueConfig], counts: Counter[str], types: Mapping[str, str]
    ) -> dict[str, Fill]:
        taken: Counter[str] = Counter()
        fills = {}
        for queue, config in bounds.items():
            count, bound = counts[queue], config.max_size or 0
            try:
                depth = self.depths().take(queue, count, bound)
            except QueueIsFullError as full:
                self._return(taken)
                self._report_rejected(queue, types[queue], count, full.depth, bound)
                raise _full(queue, full.depth, bound) from None
            except OjsError:
                self._return(taken)
                raise
            taken[queue] = count
            fills[queue] = self._filled(queue, count, depth, config)
        return fills

    def _filled(self, queue: str, count: int, depth: int, config: QueueConfig) -> Fill:
        bound = config.max_size or 1
        threshold = config.warning_threshold * bound
        fill = Fill(queue, depth, bound, is_high=depth >= threshold)
        if depth - count < threshold <= depth or depth == bound:
            self._report_depth(
                Pressure(queue=queue, at=self.clock.now(), is_warned=True, depth=depth, bound=bound)
            )
        return fill

    def _return(self, counts: Mapping[str, int]) -> None:
        for queue, count in counts.items():
            if count:
                self._add(queue, -count)

    def _add(self, queue: str, amount: int) -> None:
        """Count jobs; the next recount corrects a failure."""
        try:
            depth = self.depths().add(queue, amount)
            config = self.settings.of(queue).config
        except Exception:  # whatever it was, the jobs are stored
            _logger.warning("Could not count %d jobs of queue %s", amount, queue, exc_info=True)
            return
        if depth is None or config.max_size is None:
            return
        threshold = config.warning_threshold * config.max_size
        if (depth >= threshold) is (depth - amount >= threshold):
            return
        self._report_depth(
            Pressure(
                queue=queue,
                at=self.clock.now(),
                is_warned=amount > 0,
                depth=max(0, depth),
                bound=config.max_size,
            )
        )

    # -------------------------------------------------------------- what is published
    def _report_depth(self, pressure: Pressure) -> None:
        try:
            self.pressures().warn(pressure)
        except Exception:
            _logger.warning("Could not publish how full queue %s is", pressure.queue, exc_info=True)

    def _report_rejected(
        self, queue: str, job_type: str, count: int, depth: int, bound: int
    ) -> None:
        """Write rejections for the stream to publish: once a second at most."""
        now = self.clock.now()
        waiting = self._rejections.setdefault(queue, _Rejections(Instant(now - REPORT_EVERY_MS)))
        waiting.count += count
        if now - waiting.reported_at < REPORT_EVERY_MS:
            return
        rejected, waiting.count, waiting.reported_at = waiting.count, 0, now
        try:
            self.pressures().reject(
                Pressure(
                    queue=queue,
                    at=now,
                    rejected=rejected,
                    job_type=job_type,
                    depth=depth,
                    bound=bound,
                )
            )
        except OjsError:
            _logger.warning("Could not publish rejections of queue %s", queue, exc_info=True)

    # ------------------------------------------------------------------- what keeps it true
    def follow(self, changes: Iterable[tuple[JobRecord | None, JobRecord | None]]) -> None:
        """Count the committed changes of bounded queues; one write for each queue.

        A job that PUSH counted is not counted again when it comes; others are.
        """
        sums: Counter[str] = Counter()
        for before, after in changes:
            if before is not None and not before.state.is_terminal:
                sums[before.queue] -= 1
            if after is not None and not after.state.is_terminal:
                is_known = before is None and after.is_counted
                sums[after.queue] += 0 if is_known else 1
        for queue, amount in sums.items():
            if amount and self.settings.of(queue).config.max_size is not None:
                self._add(queue, amount)


def _stored_all_the_same(problem: Exception, records: Sequence[JobRecord]) -> Counter[str]:
    """Count by queue the jobs that are stored although others of their batch failed."""
    named = problem.details.get("stored_job_ids") if isinstance(problem, OjsError) else None
    stored = {*map(str, named)} if isinstance(named, list) else set()
    return Counter(record.queue for record in records if record.id in stored)


def _full(queue: str, depth: int, bound: int) -> QueueFullError:
    return QueueFullError(
        f"Queue '{queue}' has reached its depth bound ({bound}).",
        details={
            "queue": queue,
            "depth": depth,
            "bound": bound,
            "strategy": "reject",
            "retry_after_seconds": RETRY_AFTER_S,
        },
        hint="Nothing was stored. Send it again after Retry-After, doubling the wait each time.",
    )
