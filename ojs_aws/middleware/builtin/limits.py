"""Limits executions: how many run at a time, or begin in a period.

A rate is a token bucket for each key, in this process. It protects the backend from one producer;
how fast jobs are started is the business of the backend's rate limits.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Literal

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import RateLimitedError
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import EnqueueNext, ExecutionNext

DEFAULT_WAIT_S: Final = 60.0


class ConcurrencyLimitError(Exception):
    """Raised when no slot became free in time to execute the job. Its retry policy applies.

    :ivar key: of the limit.
    """

    def __init__(self, key: str, limit: int, waited_s: float) -> None:
        """Name the limit, and say how long the job waited."""
        super().__init__(
            f"There are {limit} executions of {key!r} already, the most that are allowed at a "
            f"time; none ended within {waited_s:g} s."
        )
        self.key = key


@dataclass(eq=False, slots=True)
class _Waiter:
    """Holds an execution that waits for its turn, in its own event loop."""

    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    has_slot: bool = False


@dataclass(slots=True)
class _Slots:
    """Counts the slots of one key."""

    taken: int = 0
    waiting: deque[_Waiter] = field(default_factory=deque)


@dataclass(eq=False, repr=False)
class ConcurrencyLimitMiddleware:
    """Lets at most ``limit`` jobs of a type be executed at a time in this process.

    The others wait, first come first served, with their reservations extended meanwhile. One
    instance may serve several workers and event loops; together they keep the limit.

    Put it outside of the timeout, which then measures the execution without the waiting.

    :param limit: executions at a time.
    :param key: count by this instead of the type (a tenant say); None lets a job pass uncounted.
    :param wait_s: longest wait in seconds, shorter where the environment ends the execution
        sooner; 0 fails at once.
    :raises ValueError: no slot at all, or a negative wait.
    """

    limit: int
    _: KW_ONLY
    key: Callable[[Job], str | None] | None = None
    wait_s: float = DEFAULT_WAIT_S
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _slots: dict[str, _Slots] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Limit each job type by itself."""
        if self.limit < 1 or self.wait_s < 0:
            raise ValueError("limit must be at least 1, and wait_s not negative")

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute the job when there is a slot for it.

        :raises ConcurrencyLimitError: there was none in time, and the handler was not called.
        """
        key = job.type if self.key is None else self.key(job)
        if key is None:
            return await call_next()
        await self._take(key, ctx)
        try:
            return await call_next()
        finally:
            with self._lock:
                self._give_back(key)

    def active(self, key: str) -> int:
        """Return how many jobs of a key are being executed now."""
        with self._lock:
            slots = self._slots.get(key)
            return 0 if slots is None else slots.taken

    def waiting(self, key: str) -> int:
        """Return how many jobs of a key wait for a slot now."""
        with self._lock:
            slots = self._slots.get(key)
            return 0 if slots is None else len(slots.waiting)

    # ------------------------------------------------------------------ slots
    async def _take(self, key: str, ctx: JobContext) -> None:
        remaining = ctx.remaining_s()
        seconds = self.wait_s if remaining is None else min(self.wait_s, remaining)
        with self._lock:
            slots = self._slots.setdefault(key, _Slots())
            if slots.taken < self.limit:
                slots.taken += 1
                return
            if seconds <= 0:
                raise ConcurrencyLimitError(key, self.limit, 0)
            waiter = _Waiter(asyncio.get_running_loop())
            slots.waiting.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter.woken.wait()
        except TimeoutError:
            with self._lock:
                if waiter.has_slot:  # it came at the last moment
                    return
                slots.waiting.remove(waiter)
            raise ConcurrencyLimitError(key, self.limit, seconds) from None
        except BaseException:
            with self._lock:
                if waiter.has_slot:
                    self._give_back(key)
                else:
                    slots.waiting.remove(waiter)
            raise

    def _give_back(self, key: str) -> None:
        """Hand a slot to the one that waits longest; the lock is held."""
        slots = self._slots[key]
        while slots.waiting:
            waiter = slots.waiting.popleft()
            try:
                waiter.loop.call_soon_threadsafe(waiter.woken.set)
            except RuntimeError:  # its loop was closed while it waited
                continue
            waiter.has_slot = True
            return
        slots.taken -= 1
        if not slots.taken:
            del self._slots[key]


DEFAULT_MAX_KEYS: Final = 10_000
_ROUNDING: Final = 1e-9
"""A job that waited as long as it was asked to gets a token, despite rounding."""


@dataclass(slots=True)
class _Bucket:
    """Holds the tokens of a key at an instant of the clock."""

    tokens: float
    at: float


@dataclass(eq=False, repr=False)
class TokenBuckets:
    """Keeps a bucket for each key, full when it is first used. Any number of threads may use it.

    Each is filled with ``per_s`` tokens a second, up to ``burst``.

    At most ``max_keys`` are kept; the one that was not used for longest is given up first, and is
    full when it comes back.

    :param clock: monotonic seconds.
    """

    per_s: float
    burst: float
    _: KW_ONLY
    max_keys: int = DEFAULT_MAX_KEYS
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def take(self, key: str) -> float:
        """Take one token of a key.

        :returns: 0 if there was one, else the seconds until there is.
        """
        with self._lock:
            now = self.clock()
            bucket = self._buckets.get(key)
            if bucket is None:
                if len(self._buckets) >= self.max_keys:
                    self._buckets.popitem(last=False)
                bucket = self._buckets[key] = _Bucket(self.burst, now)
            self._buckets.move_to_end(key)
            since = max(0.0, now - bucket.at)
            bucket.tokens = min(self.burst, bucket.tokens + since * self.per_s)
            bucket.at = now
            if bucket.tokens > 1 - _ROUNDING:
                bucket.tokens = max(0.0, bucket.tokens - 1)
                return 0.0
            return (1 - bucket.tokens) / self.per_s

    def __len__(self) -> int:
        """Return how many keys have a bucket."""
        return len(self._buckets)


class RateLimitMiddleware:
    """Lets ``limit`` jobs per key pass in ``per_s`` seconds; refuses or drops the others.

    Every job that comes here counts, whatever becomes of it further in: put it behind validation
    and deduplication.
    """

    never_waits = True

    def __init__(
        self,
        limit: int,
        per_s: float = 1.0,
        *,
        burst: int | None = None,
        key: Literal["type", "queue"] | Callable[[Job], str | None] = "type",
        on_limit: Literal["raise", "drop"] = "raise",
        max_keys: int = DEFAULT_MAX_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Limit to ``limit`` jobs in ``per_s`` seconds for each key.

        :param burst: how many may come at once after a pause; default: ``limit``.
        :param key: what has a limit of its own: each ``type``, each ``queue``, or what a function
            of the job returns; None from it means no limit.
        :param on_limit: raise RateLimitedError, or drop the job.
        :param max_keys: keys that are kept; the least recently used one is forgotten first.
        :param clock: monotonic seconds.
        :raises ValueError: an option that makes no sense.
        """
        most = limit if burst is None else burst
        if not (limit > 0 and 0 < per_s < math.inf and most >= 1 and max_keys >= 1):
            raise ValueError(
                "limit, per_s, burst and max_keys must be positive; not "
                f"{limit}, {per_s}, {burst} and {max_keys}"
            )
        if on_limit not in ("raise", "drop"):
            raise ValueError(f"on_limit must be 'raise' or 'drop', not {on_limit!r}")
        if not callable(key) and key not in _KEYS:
            raise ValueError(f"key must be 'type', 'queue' or a function, not {key!r}")
        self._described = f"{limit} jobs in {per_s:g} s"
        self._buckets = TokenBuckets(limit / per_s, most, max_keys=max_keys, clock=clock)
        self._key: Callable[[Job], str | None] = key if callable(key) else _KEYS[key]
        self._drops = on_limit == "drop"

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on, if its key has a token.

        :raises RateLimitedError: it has none; ``details["retry_after_seconds"]`` says when.
        """
        key = self._key(job)
        wait_s = 0.0 if key is None else self._buckets.take(key)
        if not wait_s:
            return await call_next(job)
        if self._drops:
            return None
        raise RateLimitedError(
            f"More than {self._described} of {str(key)[:80]!r} were to be enqueued.",
            details={"retry_after_seconds": math.ceil(wait_s), "key": str(key)[:80]},
            hint="Enqueue the job again after that time.",
        )


_KEYS: Final[dict[str, Callable[[Job], str | None]]] = {
    "type": lambda job: job.type,
    "queue": lambda job: job.queue,
}
