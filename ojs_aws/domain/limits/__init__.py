"""Decides whether a job or a request may begin under a limit.

There are two kinds of buckets.

The bucket of a limit counts for all jobs of one key. ``rate`` counts the starts of a window that
the first start opens (a fixed window, not aligned to the clock); ``throttle`` spaces starts evenly;
``concurrency`` counts the jobs that are active.

The bucket of an API client holds tokens, kept as one number: the instant at which it would be full
again if nothing more came. A request moves that instant on by what one costs; one that would move
it too far into the future is refused. There is nothing to refill, and two writers can add to it
without reading.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job_policies import Limit, Window
from ojs_aws.domain.timestamps import Instant

BUSY_FOR_MS: Final = 5_000
"""When it is asked again whether an active job made room, where nothing says when it will."""
MAX_KEY: Final = 256
KEY_FORM: Final = f"1 to {MAX_KEY} letters, digits and . _ : -, beginning with a letter or digit"
_KEY: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:-]*", re.ASCII)
EXHAUSTED_EVERY_MS: Final = 1_000
"""A bucket says at most this often that it is exhausted (milliseconds)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Counts the jobs of a key.

    :ivar version: number of takes so far; each take is conditional on the version it read.
    :ivar active: jobs that hold a place.
    :ivar opened_at: when the window opened, and ``started`` how many began in it.
    :ivar next_at: the throttle lets no job begin before this.
    :ivar policy: the policy that the latest job named, as JSON text.
    :ivar override: the policy that an operator set for the key, as JSON text (see
        :class:`~ojs_aws.domain.limits.policies.Override`).
    :ivar blocked_until: a handler asked that no job begin before this.
    :ivar exhausted: the refusal of a job since one began last, as JSON text; see
        :meth:`Refusal.render`.
    :ivar exhausted_at: when an event last reported that.
    :ivar released: the job that began when the limit was no longer exhausted.
    :ivar queues: queues whose jobs named the key.
    :ivar revision: number of changes of what is set for a tenant; each is conditional on the one
        it read.
    """

    key: str
    version: int = 0
    active: int = 0
    opened_at: Instant | None = None
    started: int = 0
    next_at: Instant | None = None
    policy: str = ""
    override: str = ""
    blocked_until: Instant | None = None
    exhausted: str = ""
    exhausted_at: Instant | None = None
    released: str = ""
    queues: tuple[str, ...] = ()
    revision: int = 0

    def is_silent(self, now: Instant) -> bool:
        """Return True if an event is due: the limit was not exceeded, and none was sent lately."""
        reported = self.exhausted_at
        return not self.exhausted and (reported is None or reported <= now - EXHAUSTED_EVERY_MS)

    def current_count(self, window: Window, now: Instant) -> int:
        """Return how many jobs started in the open window."""
        return self.started if self._is_open(window, now) else 0

    def _is_open(self, window: Window, now: Instant) -> bool:
        return self.opened_at is not None and now < self.opened_at + window.period_ms


@dataclass(frozen=True, slots=True)
class LimitRefusal:
    """Says why a job may not begin, and for how long.

    :ivar strategy: ``concurrency``, ``rate``, ``throttle``, or ``dynamic`` where a handler
        reported that it must wait.
    :ivar until: when it is worth asking again.
    :ivar limit: the number that was reached, and ``current`` what was counted.
    :ivar per_s: how many jobs may begin a second once it is over; None where nothing says so.
    :ivar slot_ms: how far apart the instants are at which some may (milliseconds).
    """

    strategy: str
    until: Instant
    limit: int = 0
    current: int = 0
    per_s: float | None = None
    slot_ms: int = 1000

    def render(self, now: Instant) -> dict[str, JsonValue]:
        """Return the members that an event reports of it."""
        return {
            "strategy": self.strategy,
            "limit": self.limit,
            "current": self.current,
            "at": now,
        }


def take(bucket: Bucket, limit: Limit, now: Instant) -> Bucket | LimitRefusal:
    """Return the bucket after one more start, or why the job may not start.

    A start counts in each way that the policy names. Other policies of the same key see it.
    """
    if bucket.blocked_until is not None and now < bucket.blocked_until:
        return LimitRefusal("dynamic", bucket.blocked_until, current=bucket.active)
    if limit.concurrency is not None and bucket.active >= limit.concurrency:
        until = Instant(now + BUSY_FOR_MS)
        return LimitRefusal("concurrency", until, limit.concurrency, bucket.active)
    after = replace(bucket, version=bucket.version + 1, active=bucket.active + 1, exhausted="")
    if limit.rate is not None:
        count = bucket.current_count(limit.rate, now)
        if count >= limit.rate.limit:
            return _closed(bucket, limit.rate, count, now)
        opened_at = bucket.opened_at if count else now
        after = replace(after, opened_at=opened_at, started=count + 1)
    if limit.throttle is not None:
        if limit.throttle.limit == 0:
            return LimitRefusal("throttle", Instant(now + BUSY_FOR_MS))
        spacing_ms = limit.throttle.spacing_ms
        if bucket.next_at is not None and now < bucket.next_at:
            most, per_s = limit.throttle.limit, limit.throttle.per_s
            return LimitRefusal("throttle", bucket.next_at, most, 1, per_s, spacing_ms)
        after = replace(after, next_at=Instant(now + spacing_ms))
    return after


def _closed(bucket: Bucket, rate: Window, count: int, now: Instant) -> LimitRefusal:
    """Return the refusal by a window that is full."""
    if not count or bucket.opened_at is None:  # it lets none begin
        return LimitRefusal("rate", Instant(now + BUSY_FOR_MS), rate.limit, count)
    until = Instant(bucket.opened_at + rate.period_ms)
    return LimitRefusal("rate", until, rate.limit, count, rate.per_s, rate.period_ms)


def is_key(key: str) -> bool:
    """Return whether a text has the form of a key."""
    return len(key) <= MAX_KEY and _KEY.fullmatch(key) is not None


def queue_key(queue: str) -> str:
    """Return the key of a whole queue's bucket."""
    return f"queue:{queue}"


def type_key(type_: str, queue: str = "") -> str:
    """Return the key of a job type's bucket: in all queues, or in one."""
    return f"queue:{queue}:type:{type_}" if queue else f"type:{type_}"


def tenant_key(tenant: str) -> str:
    """Return the key of a tenant's bucket, which counts its jobs in all queues."""
    return f"{_TENANT}{tenant}"


def binding_key(queue: str, name: str) -> str:
    """Return the key of the bucket that counts the active jobs of a queue's binding."""
    return f"{_BINDING}{queue}/{name}"


def binding_in(key: str) -> str:
    """Return the name of the binding that a key is of; empty for any other key."""
    return key.rpartition("/")[2] if key.startswith(_BINDING) else ""


_TENANT: Final = "tenant/"
_BINDING: Final = "binding/"
"""No key that a job may name holds a slash, and so none is that of a tenant or a binding."""


@dataclass(frozen=True, slots=True)
class LimitScope:
    """Names the jobs that a limit covers without a key in the job; empty means any.

    A limit covers a queue, a type, the type in one queue, or a tenant.
    """

    queue: str = ""
    type: str = ""
    tenant: str = ""


def scope_of(key: str) -> LimitScope | None:
    """Return the queue, type or tenant that a key covers; None for any other key.

    Names of queues and types hold no colon, so no two scopes have the same key.
    """
    if key.startswith(_TENANT):
        return LimitScope(tenant=key.removeprefix(_TENANT))
    match key.split(":"):
        case ["queue", queue] if queue:
            return LimitScope(queue=queue)
        case ["type", type_] if type_:
            return LimitScope(type=type_)
        case ["queue", queue, "type", type_] if queue and type_:
            return LimitScope(queue, type_)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRate:
    """Holds a client's rate: requests per second, and how many at once after a pause."""

    per_s: int
    burst: int

    @property
    def cost_us(self) -> int:
        """Return how far a request moves the instant, in microseconds."""
        return max(1, round(1_000_000 / self.per_s))

    @property
    def depth_us(self) -> int:
        """Return how far the instant may be in the future, in microseconds."""
        return self.burst * self.cost_us

    def latest_us(self, now_us: int) -> int:
        """Return the latest instant of a bucket that still has a token."""
        return now_us + self.depth_us - self.cost_us

    @property
    def share(self) -> int:
        """Return how many requests a process admits before it asks the table again.

        A hundredth of what a second allows: what so many processes do not ask for is no more than
        the limit itself, and a client with a high limit costs little.
        """
        return max(1, min(self.per_s, self.burst) // 100)


@dataclass(frozen=True, slots=True)
class Standing:
    """Says how a client stands after a request.

    :ivar full_at_us: when its bucket is full again (microseconds since the epoch).
    :ivar is_refused: the request was one too many.
    """

    full_at_us: int
    is_refused: bool = False

    def remaining(self, rate: ClientRate, now_us: int) -> int:
        """Return how many requests may follow at once."""
        free_us = rate.depth_us - max(0, self.full_at_us - now_us)
        return max(0, min(rate.burst, free_us // rate.cost_us))

    def next_at_us(self, rate: ClientRate, now_us: int) -> int:
        """Return when the next request is permitted: now, while there are tokens."""
        return max(now_us, self.full_at_us + rate.cost_us - rate.depth_us)

    def wait_s(self, rate: ClientRate, now_us: int) -> int:
        """Return how long to wait for the next request: whole seconds, at least one."""
        return max(1, math.ceil((self.next_at_us(rate, now_us) - now_us) / 1_000_000))
