"""Limit how fast jobs are enqueued (middleware page, interaction with rate limiting).

A token bucket for each key, in this process. It protects the backend from one producer; how fast
jobs are started is the business of the backend's rate limits.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Literal

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import RateLimitedError
from ojs_aws.middleware.protocols import EnqueueNext

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
