"""Checks limits in one round of a FETCH, and computes when messages come back.

A job that may not begin is passed by, and so are the jobs behind it with the same bucket: their
sort keys or types name the bucket, so they are not read. A limit of the whole queue ends the round.

The messages of jobs that were passed by come back later. Each message starts the first job in line,
whichever it names, so what matters is how many come back, and when. If all came back when the limit
opens, each would invoke a worker, and nearly all in vain. If they came back one by one, the limit
would not be used. So they are spread over the next windows, about two messages for each job that
may begin: few starts stay unused, and at most every second message is in vain.

A limit of concurrency does not know when it opens. Its messages come back ten in a second, and
within a minute if there are few. Whoever ends such a job wakes the next one.
"""

from __future__ import annotations

import logging
import math
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.job_policies import Limit, LimitOfType, OnLimit
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.limits import (
    Bucket,
    LimitRefusal,
    LimitScope,
    queue_key,
    scope_of,
    take,
    tenant_key,
    type_key,
)
from ojs_aws.domain.limits.policies import effective
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import MAX_DELAY_S

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits

LOOK_EACH_MS: Final = 5_000
"""How old what a process knows of limits of job types may be (milliseconds)."""
SLACK: Final = 2
"""How many messages come back for each job that may begin."""
FEW: Final = 20
"""So many are not spread: they fit into two invocations, and none should miss its window."""
LOOKS_PER_S: Final = 10
"""Messages of a queue that come back in a second where nothing says how fast jobs may begin."""
MAX_BLIND_MS: Final = 60_000
"""The longest wait there, while :data:`LOOKS_PER_S` allow it. With more than that the wait grows
with the number of messages, up to SQS's longest delay."""


@dataclass(slots=True)
class LimitedTypes:
    """Holds the job types and tenants that an operator has limited, as of a few seconds ago.

    One read in :data:`LOOK_EACH_MS` and process, whatever is fetched in between.

    :ivar most_of_tenant: how many jobs of a tenant may run where nothing is set for it; None for
        any number.
    :ivar tenants: the tenants that have limits of their own, as of the last :meth:`of`.
    """

    limits: Callable[[], Limits]
    clock: Clock
    most_of_tenant: int | None = None
    _scopes: tuple[LimitScope, ...] = ()
    _looked_at: Instant | None = None
    tenants: frozenset[str] = frozenset()

    def of(self, queue: str) -> frozenset[str]:
        """Return the buckets of types that apply to jobs of a queue.

        :raises BackendError: it cannot be read. No job begins then, since it might have to wait.
        """
        now = self.clock.now()
        if self._looked_at is None or now >= self._looked_at + LOOK_EACH_MS:
            found = self.limits().scopes(now)
            self._scopes = tuple(each for each in found if each.type)
            self.tenants = frozenset(each.tenant for each in found if each.tenant)
            self._looked_at = now
        concerned = (each for each in self._scopes if each.queue in {"", queue})
        return frozenset(type_key(each.type, each.queue) for each in concerned)

    def check(self, queue: str) -> LimitCheck:
        """Return the check of the limits of a queue's jobs; see :meth:`of`."""
        types = self.of(queue)
        return LimitCheck(queue, types, self.tenants, most_of_tenant=self.most_of_tenant)


@dataclass(slots=True)
class LimitCheck:
    """Checks the limits of one queue's round.

    :ivar types: buckets of job types that have a limit.
    :ivar tenants: tenants that have one.
    :ivar most_of_tenant: see :class:`LimitedTypes`.
    :ivar is_whole: whether the queue itself has one.
    :ivar refused: why it is not worth asking now, by bucket.
    :ivar has_passed_by: whether a job was kept waiting.
    :ivar of_binding: returns the limit that jobs of a type have by their binding, which the claim
        brings along; None where no binding has one.
    :ivar moving: buckets of which jobs are given up or put off, so that each is looked at.
    """

    queue: str
    types: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    is_whole: bool = False
    refused: dict[str, LimitRefusal] = field(default_factory=dict)
    has_passed_by: bool = False
    moving: set[str] = field(default_factory=set)
    of_binding: LimitOfType | None = None
    most_of_tenant: int | None = None

    @property
    def refuses_all(self) -> bool:
        """Return whether the queue itself is at its limit."""
        return queue_key(self.queue) in self.refused

    def keys_of(self, key: str, type_: str, tenant: str) -> list[str]:
        """Return the buckets that a claim needs; none for a job that nothing limits.

        :param key: the bucket that its place in line names, or empty.
        :param tenant: the tenant that it names, or empty.
        """
        scopes = {type_key(type_), type_key(type_, self.queue)} & self.types if self.types else ()
        whole = [queue_key(self.queue)] if self.is_whole else []
        own = [tenant_key(tenant)] if tenant and self.limits_tenant(tenant) else []
        bound = self._of_binding(type_)
        own += [bound.key] if bound else []
        return sorted({*scopes, *whole, *own, *([key] if key else [])})

    def _of_binding(self, type_: str) -> Limit | None:
        return None if self.of_binding is None else self.of_binding(type_)

    def limits_tenant(self, tenant: str) -> bool:
        """Return whether jobs of a tenant may have to wait for others of it."""
        return bool(tenant) and (self.most_of_tenant is not None or tenant in self.tenants)

    def refuses(self, key: str, type_: str, tenant: str) -> bool:
        """Return whether it is already known that such a job must wait."""
        known = any(each in self.refused for each in self.keys_of(key, type_, tenant))
        is_refused = self.refuses_all or (known and key not in self.moving)
        self.has_passed_by = self.has_passed_by or is_refused
        return is_refused

    def take(
        self, job: JobRecord, buckets: Mapping[str, Bucket], now: Instant
    ) -> list[tuple[Bucket, Bucket]] | tuple[Bucket, LimitRefusal]:
        """Return the buckets before and after the job's start, or the one that refuses it.

        All must be satisfied. A bucket counts the job even if it has no policy now.
        """
        takes, bound = [], self._of_binding(job.type)
        for key, bucket in sorted(buckets.items()):
            own = job.limit if job.limit is not None and job.limit.key == key else None
            scope = scope_of(key)
            limit = effective(own, bucket, now, is_scope=scope is not None)
            if bound is not None and bound.key == key:
                limit = bound
            most = self.most_of_tenant if scope is not None and scope.tenant else None
            after = take(bucket, limit or Limit(key=key, concurrency=most), now)
            if isinstance(after, LimitRefusal):
                self.refused[key] = after
                self.has_passed_by = True
                return bucket, after
            policy = bucket.policy if own is None else encode(own.render())
            takes.append((bucket, replace(after, policy=policy)))
        return takes

    def instead_of_waiting(self, job: JobRecord) -> OnLimit:
        """Return what the job's policy says to do if its own bucket refuses it."""
        limit = job.limit
        if limit is None or limit.key not in self.refused or limit.on_limit is OnLimit.WAIT:
            return OnLimit.WAIT
        self.moving.add(limit.key)
        return limit.on_limit

    def pass_by(self, keys: Sequence[str], now: Instant) -> None:
        """Skip such jobs in this round: too many try to take places at once."""
        for each in keys:
            self.refused.setdefault(each, LimitRefusal("contention", now))
        self.has_passed_by = True


_logger = logging.getLogger(__name__)


def note_limits(limits: Callable[[], Limits], jobs: Sequence[JobRecord], now: Instant) -> None:
    """Remember the policies of jobs; failures are logged, and the first claim tries again."""
    limited = [(job.limit, job.queue) for job in jobs if job.limit is not None]
    for key, policy, queue in sorted({(x.key, encode(x.render()), q) for x, q in limited}):
        try:
            limits().note(key, policy, queue, now)
        except Exception:  # whatever it was, the jobs are stored
            _logger.warning("Could not note the limit %s", key, exc_info=True)


@dataclass(frozen=True, slots=True)
class MessageBackoff:
    """Says when messages come back.

    :ivar opens_in_ms: when the limit opens, in milliseconds from now.
    :ivar slot_ms: how far apart windows are.
    :ivar slots: over how many windows the messages are spread.
    """

    opens_in_ms: int = 0
    slot_ms: int = 1000
    slots: int = 1

    def seconds(self, handle: str) -> int:
        """Return when a message comes back, spread by its receipt handle as if by chance."""
        slot = zlib.crc32(handle.encode()) * self.slots >> 32
        return min(-(-(self.opens_in_ms + slot * self.slot_ms) // 1000), MAX_DELAY_S)


def message_backoff(
    refusals: Collection[LimitRefusal], waiting: int, now: Instant
) -> MessageBackoff:
    """Return how to spread the messages of a queue, by the refusal that ends first.

    :param waiting: about how many messages there are.
    """
    if not refusals:
        return MessageBackoff()
    first = min(refusals, key=lambda refusal: refusal.until)
    opens_in, many = max(1, first.until - now), max(0, waiting - FEW)
    if first.per_s:
        per_slot = max(1, round(first.per_s * first.slot_ms / 1000))
        return MessageBackoff(opens_in, first.slot_ms, max(1, math.ceil(many / (SLACK * per_slot))))
    opens_in = min(opens_in, MAX_BLIND_MS)
    wanted_s = math.ceil(many / LOOKS_PER_S)
    longest_s = min(max(MAX_BLIND_MS // 1000, wanted_s), MAX_DELAY_S)
    room_s = longest_s - opens_in // 1000
    return MessageBackoff(opens_in, 1000, max(1, min(wanted_s, room_s)))
