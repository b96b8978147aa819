"""Remembers in this process which workers must get no new jobs.

Quiet workers stop fetching by themselves; that is their part of the protocol (section 6.6). This
is the backend's: a process that has just answered a worker's heartbeat remembers that it drains,
and gives it nothing (ojs-graceful-shutdown, section 5.1). Looking every worker up at each FETCH
would cost a read per job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import WorkerInfo
from ojs_aws.services.workers.liveness import silence_ms

MAX_REMEMBERED: Final = 1000


@dataclass(frozen=True, slots=True)
class DrainState:
    """Remembers draining workers until they count as dead, or no longer drain."""

    _until: dict[str, Instant] = field(default_factory=dict)

    def note(self, worker: WorkerInfo) -> None:
        """Remember, or forget, a worker that just sent a heartbeat."""
        self._until.pop(worker.id, None)
        if not worker.is_draining:
            return
        while len(self._until) >= MAX_REMEMBERED:  # the oldest first
            self._until.pop(next(iter(self._until)), None)
        self._until[worker.id] = Instant(worker.last_seen + silence_ms(worker))

    def holds(self, worker_id: str, now: Instant) -> bool:
        """Return whether a worker is known to drain."""
        until = self._until.get(worker_id)
        return until is not None and now < until
