"""Learns how long jobs of each type run, for the fair queues in which that is their cost.

The stream's consumer sees every job that completes. It keeps the run times, and adds them once in a
minute to those that stand with the queue's settings: PUSH reads these anyhow. A process that dies
takes the run times of a minute with it, and an update that is made twice counts them twice: means
do not change by it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.fairness import NO_RUNS, Runs, added_runs, read_run_times, run_times_text
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.counters import Changed

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore

WRITE_EVERY_MS: Final = 60_000
"""A process writes what it has learnt of a queue this often at most."""

MAX_QUEUES: Final = 1_000
"""Queues that a process learns of at a time."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Learnt:
    """Holds run times of a queue that are not written yet, and when they may be."""

    runs: dict[str, Runs] = field(default_factory=dict)
    due_at: Instant = field(default_factory=lambda: Instant(0))


@dataclass(frozen=True, slots=True)
class CostLearner:
    """Learns the run times of types, by the queue."""

    settings: Callable[[], QueueSettingsStore]
    clock: Clock
    _queues: dict[str, _Learnt] = field(default_factory=dict)

    def note(self, changes: Iterable[Changed]) -> None:
        """Learn from jobs that completed: a read and an update for each queue and minute."""
        now, queues = self.clock.now(), dict[str, _Learnt]()
        for change in changes:
            job, run_ms = change.after, change.run_ms
            if job is None or run_ms is None:
                continue
            if job.queue not in self._queues and len(self._queues) >= MAX_QUEUES:
                self._queues.clear()
            learnt = queues[job.queue] = self._queues.setdefault(job.queue, _Learnt())
            known = learnt.runs.get(job.type, NO_RUNS)
            learnt.runs[job.type] = known.plus(Runs(1, run_ms))
        for queue, learnt in queues.items():
            if now >= learnt.due_at:
                learnt.due_at = Instant(now + WRITE_EVERY_MS)
                self._write(queue, learnt)

    def _write(self, queue: str, learnt: _Learnt) -> None:
        """Add what was learnt to what is known; later, if others do so or AWS does not take it."""
        learnt.runs = added_runs({}, learnt.runs)  # however many types clients make up
        try:
            own = self.settings().load([queue]).get(queue)
            if own is not None:
                text = run_times_text(added_runs(read_run_times(own.run_times), learnt.runs))
                if not self.settings().learn(own, text):
                    return
        except OjsError:
            _logger.warning("Could not write the run times of %s", queue, exc_info=True)
            return
        learnt.runs.clear()
