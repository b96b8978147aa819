"""Decides which queues a job may be pushed to, and how many may be created by use.

Each queue costs something by itself: a look of the sweep, metrics, an SQS queue. Whoever may
enqueue makes queues where undeclared ones are allowed, so their number has a bound. It is no exact
one: pushes at the same moment may each make the last queue.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.errors import NotFoundError, OjsError
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

LOOK_AGAIN_MS: Final = 1_000
"""How old the known queues may be when a new one is admitted."""

FULL_MS: Final = 60_000
"""How long nothing is looked up for new queues once there are as many as there may be."""

PENDING_MS: Final = 60_000
"""How long a queue that was admitted counts although nobody has registered it yet."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class UndeclaredQueues:
    """Knows the undeclared queues, and admits new ones up to the maximum.

    Declared queues are not asked about. A queue that is known costs nothing; one that this process
    does not know costs a query of the registry. For any number of threads.

    :ivar registered: reads the names of all queues that were used.
    :ivar deleted: reads the names of those that were deleted; they do not count.
    """

    most: int
    clock: Clock
    registered: Callable[[], Collection[str]]
    deleted: Callable[[], Collection[str]]
    _known: frozenset[str] = frozenset()
    _pending: dict[str, Instant] = field(default_factory=dict)
    _looked_at: Instant | None = None
    _full_until: Instant | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, queue: str) -> bool:
        """Return whether jobs may be pushed to a queue, which is then created."""
        now = self.clock.now()
        with self._lock:
            if queue in self._known or self._pending.get(queue, 0) > now:
                return True
            if self._full_until is not None and now < self._full_until:
                return False
        try:
            counted = self._look(now)
            if queue in self._known:
                return True
            if len(counted) >= self.most and len(counted - {*self.deleted()}) >= self.most:
                self._full_until = Instant(now + FULL_MS)
                return False
        except OjsError:
            # The bound is on cost: where the queues cannot be read, it costs no job.
            _logger.warning("Could not count the queues; '%s' is admitted", queue, exc_info=True)
            return True
        with self._lock:
            self._pending[queue] = Instant(now + PENDING_MS)
        return True

    def _look(self, now: Instant) -> frozenset[str]:
        """Read the undeclared queues, unless that was done a moment ago."""
        if self._looked_at is None or now >= self._looked_at + LOOK_AGAIN_MS:
            known = frozenset(self.registered())
            with self._lock:
                self._known, self._looked_at = known, now
                pending = {name: until for name, until in self._pending.items() if until > now}
                self._pending = pending
        with self._lock:
            return self._known | self._pending.keys()


@dataclass(frozen=True, slots=True)
class QueueRules:
    """Decides which queues a job may be pushed to.

    :ivar undeclared: those that came to be at their first use; None where none may.
    """

    declared: frozenset[str]
    undeclared: UndeclaredQueues | None

    def check(self, queue: str) -> None:
        """Refuse an undeclared queue if only declared ones may be used.

        :raises NotFoundError: naming the queues there are.
        """
        if self.undeclared is None and queue not in self.declared:
            raise NotFoundError(
                f"There is no queue '{queue}'.",
                details={"queue": queue, "queues": [*sorted(self.declared)]},
                hint="Declare it (OJS_QUEUES), or allow queues to be created on first use.",
            )

    def admit(self, queue: str) -> None:
        """Refuse what :meth:`check` refuses, and queues beyond the maximum.

        :raises NotFoundError: there is no such queue, and none may come to be.
        """
        self.check(queue)
        if queue in self.declared or self.undeclared is None or self.undeclared.admit(queue):
            return
        raise NotFoundError(
            f"There is no queue '{queue}', and there are {self.undeclared.most} undeclared queues "
            "already, the most that are allowed.",
            details={"queue": queue, "max_undeclared_queues": self.undeclared.most},
            hint="Declare the queue (OJS_QUEUES), delete queues that nobody needs, or raise "
            "OJS_MAX_UNDECLARED_QUEUES.",
        )
