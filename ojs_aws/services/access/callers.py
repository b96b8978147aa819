"""Limits the requests of API clients, and records what callers did.

Each credential has a limit of its own (HTTP binding, section 18; ojs-security, 10.1). Many
processes answer the requests of one client. What they share is one item for each credential; a
process asks it for its share of requests at a time (:attr:`ClientRate.share`), and remembers for
how long the answer was no. Requests below a share within a second are not counted: a client may get
``processes * (share - 1)`` requests a second beyond its limit, and never fewer than its limit.

The stream publishes each record as ``operation.completed``. A record costs one write, and only
those requests of operators make them that change no item which says who did it: removals, limits,
API keys.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.errors import JsonValue, OjsError
from ojs_aws.domain.jobs.batches import BulkDone, OperationDone
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.limits import ClientRate, Standing
from ojs_aws.domain.runtime import Clock

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.access import ClientBuckets
    from ojs_aws.adapters.dynamodb.bulk import BulkRequests
    from ojs_aws.domain.runtime import IdGenerator

MAX_CLIENTS: Final = 10_000
"""Clients that a process remembers; the one it heard of longest ago is forgotten first."""

_SECOND_US: Final = 1_000_000

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Local:
    """Holds what a process knows of a client.

    :ivar since_us: when the second began whose requests are counted, and ``uncounted`` how many.
    """

    standing: Standing
    since_us: int
    uncounted: int = 0


@dataclass(slots=True)
class ClientRateLimits:
    """Decides whether a request is one too many. For any number of threads."""

    buckets: Callable[[], ClientBuckets]
    clock: Clock
    rate: ClientRate
    _known: OrderedDict[str, _Local] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, client: str) -> Standing:
        """Count a request of a client.

        Where the table cannot be asked it passes: a limit that fails must not be an outage.
        """
        now_us = self.now_us()
        with self._lock:
            local = self._local(client, now_us)
            if local.standing.is_refused:
                if now_us < local.standing.next_at_us(self.rate, now_us):
                    return local.standing
                local.standing = Standing(local.standing.full_at_us)
            local.uncounted += 1
            wanted = local.uncounted
            if wanted < self.rate.share:
                return self._estimated(local, now_us)
            local.uncounted = 0
        return self._ask(client, local, wanted, now_us)

    def now_us(self) -> int:
        """Return the time in microseconds, as requests are counted."""
        return self.clock.now() * 1000

    def _local(self, client: str, now_us: int) -> _Local:
        local = self._known.get(client)
        if local is None:
            if len(self._known) >= MAX_CLIENTS:
                self._known.popitem(last=False)
            local = self._known[client] = _Local(Standing(now_us), now_us)
        self._known.move_to_end(client)
        if now_us - local.since_us >= _SECOND_US:
            local.since_us, local.uncounted = now_us, 0
        return local

    def _estimated(self, local: _Local, now_us: int) -> Standing:
        """Return how the client stands, as far as this process knows."""
        begun = max(local.standing.full_at_us, now_us)
        return Standing(begun + local.uncounted * self.rate.cost_us)

    def _ask(self, client: str, local: _Local, wanted: int, now_us: int) -> Standing:
        """Count the requests in the table, without a lock: other clients need not wait."""
        seen_us = local.standing.full_at_us
        try:
            standing = self.buckets().charge(
                client, wanted * self.rate.cost_us, self.rate.latest_us(now_us), now_us, seen_us
            )
        except OjsError:
            _logger.warning("Could not count a request of %s; it passes", client, exc_info=True)
            return Standing(now_us)
        with self._lock:
            local.standing = standing
            if standing.is_refused:  # those before it are still to be counted
                local.uncounted = wanted - 1
        return standing


@dataclass(frozen=True, slots=True)
class OperationAudit:
    """Lets the stream publish who did an operation."""

    requests: BulkRequests
    clock: Clock
    ids: IdGenerator

    def __call__(self, operation: str, target: Mapping[str, JsonValue], by: Actor) -> None:
        """Record an operation that is done; if that fails, it stays done.

        :param operation: its id in the OpenAPI document.
        :param target: what it was done to, and how much of it.
        """
        now = self.clock.now()
        done = OperationDone(
            id=self.ids.request_id(),
            operation=operation,
            target=encode({**target}),
            queue=str(target.get("queue", "")),
            at=now,
            by=stored_actor(by, now),
        )
        try:
            self.requests.record_operation(done)
        except Exception:  # whatever it was, the operation is done
            _logger.warning("Could not publish who did %s", operation, exc_info=True)


@dataclass(frozen=True, slots=True)
class CompletionEvents:
    """Lets the stream publish finished bulk operations (ojs-bulk-operations, section 12.1)."""

    requests: BulkRequests
    clock: Clock
    ids: IdGenerator

    def __call__(
        self,
        operation: str,
        total: int,
        done: int,
        *,
        is_atomic: bool,
        by: Actor | None = None,
    ) -> None:
        """Record that an operation is finished; if that fails, the work stays done.

        :param total: jobs that it was about.
        :param done: those that it did it to.
        :param by: who did it.
        """
        now = self.clock.now()
        over = BulkDone(
            id=self.ids.request_id(),
            operation=operation,
            total=total,
            done=done,
            is_atomic=is_atomic,
            at=now,
            by=stored_actor(by, now),
        )
        try:
            self.requests.record_bulk(over)
        except Exception:  # whatever it was, the operation is done
            _logger.warning("Could not publish a finished bulk %s", operation, exc_info=True)
