"""Sweeps: finds what no message could time, and what lost its message.

Runs once a minute. Its cost grows with what is due, not with what waits, and hardly with the number
of queues: one where nothing was ready or due soon is looked at again only after some minutes
(decision 14).
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import add, or_
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.jobs.batches import RollForwardReport
from ojs_aws.domain.queues import LastTick, QueueInfo
from ojs_aws.domain.runtime import IN_ORDER, Clock, Parallel
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.upkeep.sweep_queue import QueueReport, QueueSweep

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry

MAX_OLDEST: Final = 20
"""Queues whose longest wait is remembered."""

IDLE_LOOK_MS: Final = 300_000
"""An idle queue is looked at again after at most this long.

A job pushed meanwhile either has a message, being due within SQS's reach, or is due so late that
the next look arms it: this must stay well below ``REACH_MS``."""

SPREAD: Final = 1000

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """Counts what a sweep did.

    :ivar queues: queues that were looked at.
    :ivar armed: messages sent ahead of waiting jobs.
    :ivar settled: jobs moved by time.
    :ivar covered: messages sent again for ready jobs.
    :ivar failed: queues whose sweep met an error; the next tick repeats it.
    :ivar skipped: queues for which no time was left; the next tick begins with them.
    :ivar lag_ms: how long the most overdue job without a message had been due.
    :ivar known: queues that there are, whether they were swept or not.
    :ivar oldest_ms: for how long jobs have been ready, by queue (see :class:`QueueReport`).
    :ivar jobs_failed: jobs that could not be moved, and were passed over.
    :ivar batches_failed: large batches that could not be rolled forward.
    :ivar batches_lost: those that never will be, and were given up.
    :ivar suspended: bindings that nobody suspended but their own failures, by queue.
    """

    queues: int = 0
    armed: int = 0
    settled: int = 0
    covered: int = 0
    failed: int = 0
    skipped: int = 0
    lag_ms: int = 0
    known: int = 0
    oldest_ms: Mapping[str, int] = field(default_factory=dict)
    jobs_failed: int = 0
    batches_failed: int = 0
    batches_lost: int = 0
    suspended: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: SweepReport) -> SweepReport:
        """Return the sum of two reports."""
        summed = {
            each.name: _SUMS.get(each.name, add)(
                getattr(self, each.name), getattr(other, each.name)
            )
            for each in fields(self)
        }
        return SweepReport(**summed)


_SUMS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "lag_ms": max,
    "known": max,
    "oldest_ms": or_,
    "suspended": or_,
}
"""How two values become one; those of other members are added."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Says when a queue was last looked at, and when to look again."""

    at: Instant
    again_at: Instant


@dataclass(frozen=True, slots=True)
class Sweep:
    """Sweeps queues. Any part may be repeated or cut short; the next tick continues.

    What this process knows of idle queues only saves calls: another process that knows nothing of
    it looks at every queue.
    """

    queue: QueueSweep
    queues: QueueRegistry
    clock: Clock
    parallel: Parallel = IN_ORDER
    finish: Callable[[QueueInfo], None] = lambda _: None
    roll_forward: Callable[[Callable[[], bool]], RollForwardReport] = lambda _: RollForwardReport()
    recount: Callable[[Sequence[str], Callable[[], bool]], None] = lambda _, __: None
    _looks: dict[str, _Look] = field(default_factory=dict)

    def tick(self, ends_at: Instant | None = None) -> SweepReport:
        """Sweep the queues that need it; an error in one does not stop the others.

        :param ends_at: when no more work may be begun; what is left is the next tick's.
        :raises BackendError: the queues could not be read.
        """

        def is_over() -> bool:
            return ends_at is not None and self.clock.now() >= ends_at

        def sweep(info: QueueInfo) -> SweepReport:
            return self._safely(info, is_over, rolled.sent)

        begun = self.clock.now()
        halfway = begun if ends_at is None else Instant((begun + ends_at) // 2)
        # However many batches are left behind, queues get half of the time.
        rolled = self._roll_forward(lambda: ends_at is not None and self.clock.now() >= halfway)
        report = SweepReport(batches_failed=rolled.failed, batches_lost=rolled.lost)
        infos = self.queues.all()
        report = replace(report, known=len(infos), suspended=_suspended(infos))
        for info in infos:
            if info.triggers or info.paused_at is not None:
                self._finish(info)
        for part in self.parallel.each(sweep, self._by_last_sweep(infos)):
            report = report.plus(part)
        try:
            self.recount([info.name for info in infos], is_over)
        except Exception:  # whatever it was, the next tick repeats it
            _logger.exception("Could not count queues")
        try:
            oldest = self._oldest(report.oldest_ms)
            self.queues.remember_tick(LastTick(self.clock.now(), report.lag_ms, oldest))
        except OjsError:
            _logger.warning("Could not write down the end of the sweep", exc_info=True)
        return report

    def _oldest(self, oldest_ms: Mapping[str, int]) -> dict[str, Instant]:
        """Return since when jobs wait in the queues that wait longest."""
        since = {name: Instant(self._looks[name].at - ms) for name, ms in oldest_ms.items()}
        longest = sorted(since, key=lambda name: (since[name], name))
        return {name: since[name] for name in longest[:MAX_OLDEST]}

    def _finish(self, info: QueueInfo) -> None:
        try:
            self.finish(info)
        except Exception:  # whatever it was, the next tick repeats it
            _logger.exception("Could not switch the triggers of queue %s", info.name)

    def _roll_forward(self, is_over: Callable[[], bool]) -> RollForwardReport:
        """Roll forward the large batches whose processes died."""
        try:
            rolled = self.roll_forward(is_over)
        except Exception:  # whatever it was, the queues must be swept
            _logger.exception("Could not look after batches")
            return RollForwardReport(failed=1)
        if rolled.done:
            _logger.warning("Rolled %d batches forward", rolled.done)
        return rolled

    def _by_last_sweep(self, infos: Iterable[QueueInfo]) -> list[QueueInfo]:
        """Return the queues to look at, the longest unseen first.

        Among those that this process has never seen, another one is the first each minute, so that
        processes which never get to the end still get to every queue.
        """
        now = self.clock.now()
        never = _Look(Instant(0), Instant(0))

        def turn(info: QueueInfo) -> tuple[int, int]:
            seen = self._looks.get(info.name, never)
            return seen.at, zlib.crc32(f"{info.name} {now // 60_000}".encode())

        due = [info for info in infos if self._looks.get(info.name, never).again_at <= now]
        return sorted(due, key=turn)

    def _safely(
        self, info: QueueInfo, is_over: Callable[[], bool], sent: Collection[str]
    ) -> SweepReport:
        if is_over():
            return SweepReport(skipped=1)
        now = self.clock.now()
        try:
            if info.created_at is None:
                # A declared queue: when it is taken off the list, its item says that it is there.
                self.queues.register(info.name, now)
            done = self.queue(info, is_over, sent)
        except Exception:  # whatever it was, the other queues must have their turn
            _logger.exception("Sweep of queue %s failed", info.name)
            self._looks[info.name] = _Look(now, now)  # the others come before it next time
            return SweepReport(queues=1, failed=1)
        self._looks[info.name] = _Look(now, _again_at(info.name, done, now))
        return SweepReport(
            queues=1,
            armed=done.armed,
            settled=done.settled,
            covered=done.covered,
            lag_ms=done.lag_ms,
            oldest_ms={info.name: done.oldest_ms} if done.oldest_ms else {},
            jobs_failed=done.jobs_failed,
        )


def _again_at(queue: str, done: QueueReport, now: Instant) -> Instant:
    """Return the next look: busy queues at the next tick, idle ones later and spread."""
    if not done.is_idle:
        return now
    share = zlib.crc32(f"{queue} {now}".encode()) % SPREAD / SPREAD
    return Instant(now + round(IDLE_LOOK_MS * (1 + share) / 2))


def _suspended(infos: Iterable[QueueInfo]) -> dict[str, int]:
    """Return how many bindings of each queue suspended themselves; of queues that have some."""
    counts = {
        info.name: sum(not each.is_lasting for each in info.suspended.values()) for info in infos
    }
    return {name: count for name, count in counts.items() if count}
