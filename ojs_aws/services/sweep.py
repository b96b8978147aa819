"""The sweep: what no message could time, and what lost its message (ARCHITECTURE: reservations).

Runs once a minute. For each queue it arms waiting jobs that came within reach of an SQS delay,
settles jobs that time has overtaken and nobody touched, and sends a message again where jobs are
ready and none is left. Its cost grows with what is due, not with what waits.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.errors import NotFoundError, OjsError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import (
    JobStore,
    ListedJob,
    Message,
    MessageQueue,
    QueueInfo,
    QueueMissingError,
    QueueRegistry,
)
from ojs_aws.services.changing import Changing
from ojs_aws.services.waking import MAX_DELAY_S, Waking, seconds_until

PAGE: Final = 100
MAX_ARMED: Final = 2000
"""Messages armed per queue and tick; the cursor remembers where to go on."""

SETTLE_AFTER_MS: Final = 5_000
"""Jobs due longer than this were not touched by a fetch."""

UNCOVERED_AFTER_MS: Final = 60_000
"""Jobs ready longer than this may have lost their message."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What a sweep did.

    :ivar armed: messages sent ahead of waiting jobs.
    :ivar settled: jobs moved by time.
    :ivar covered: messages sent again for ready jobs.
    :ivar failed: queues whose sweep met an error; the next tick repeats it.
    :ivar lag_ms: how long the most overdue job had been due.
    """

    queues: int = 0
    armed: int = 0
    settled: int = 0
    covered: int = 0
    failed: int = 0
    lag_ms: int = 0

    def plus(self, other: SweepReport) -> SweepReport:
        """The two reports together."""
        return SweepReport(
            queues=self.queues + other.queues,
            armed=self.armed + other.armed,
            settled=self.settled + other.settled,
            covered=self.covered + other.covered,
            failed=self.failed + other.failed,
            lag_ms=max(self.lag_ms, other.lag_ms),
        )


@dataclass(frozen=True, slots=True)
class Sweep:
    """Sweeps queues. Any part may be repeated or cut short; the next tick goes on."""

    store: JobStore
    messages: MessageQueue
    queues: QueueRegistry
    changing: Changing
    waking: Waking

    def tick(self) -> SweepReport:
        """Sweep every queue; an error in one does not keep the others from theirs."""
        report = SweepReport()
        for info in self.queues.all():
            try:
                report = report.plus(self.queue(info))
            except OjsError:
                _log.exception("Sweep of queue %s failed", info.name)
                report = report.plus(SweepReport(queues=1, failed=1))
        return report

    def queue(self, info: QueueInfo) -> SweepReport:
        """Sweep one queue."""
        now = self.changing.clock.now()
        settled, lag_ms = self._settle(info.name, now)
        return SweepReport(
            queues=1,
            armed=self._arm(info, now),
            settled=settled,
            covered=self._cover(info.name, now),
            lag_ms=lag_ms,
        )

    def _arm(self, info: QueueInfo, now: Instant) -> int:
        """Send the delayed messages of jobs due within reach and not armed before."""
        horizon = Instant(now + MAX_DELAY_S * 1000)
        since = max(info.swept_until or now, now)
        armed = 0
        while since < horizon and armed < MAX_ARMED:
            rows = self.store.due(info.name, Instant(since + 1), horizon, PAGE).jobs
            timed = [row for row in rows if row.state is not JobState.ACTIVE]
            if timed and not self.waking.send(
                info.name, [(_message(row), seconds_until(_due(row), now)) for row in timed], now
            ):
                break
            armed += len(timed)
            since = horizon if len(rows) < PAGE else _due(rows[-1])
        if since != info.swept_until:
            self.queues.remember_sweep(info.name, Instant(since))
        return armed

    def _settle(self, queue: str, now: Instant) -> tuple[int, int]:
        """Move the jobs that have been due for a while."""
        rows = self.store.due(queue, Instant(0), Instant(now - SETTLE_AFTER_MS), PAGE).jobs
        settled = 0
        for row in rows:
            try:
                job = self.changing.load(row.id, now)
            except NotFoundError:
                continue
            settled += 1
            if job.state is JobState.RETRYABLE:
                self.waking.cover([job], now)
        return settled, now - _due(rows[0]) if rows else 0

    def _cover(self, queue: str, now: Instant) -> int:
        """Send messages for ready jobs when the queue has none left."""
        head = self.store.head(queue, PAGE)
        late = [row for row in head.jobs if now - _ready_since(row) > UNCOVERED_AFTER_MS]
        if not late or head.is_paused:
            return 0
        try:
            if self.messages.backlog(queue) > 0:
                return 0
        except QueueMissingError:
            self.queues.ensure(queue, now)
        is_sent = self.waking.send(queue, [(_message(row), 0) for row in late], now)
        return len(late) if is_sent else 0


def _message(row: ListedJob) -> Message:
    key = row.sort_key if row.state is JobState.AVAILABLE else ""
    return Message(row.id, key, row.timeout_ms, row.visibility_timeout_ms)


def _due(row: ListedJob) -> Instant:
    """When a row of the waiting list is due."""
    return Instant(int(row.sort_key))


def _ready_since(row: ListedJob) -> Instant:
    """When a row of the ready list was enqueued."""
    return Instant(int(row.sort_key.partition("#")[2]) // 1000)
