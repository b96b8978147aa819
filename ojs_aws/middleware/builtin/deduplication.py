"""Drop jobs that were enqueued a moment ago (middleware specification, sections 3.6 and 10.1).

The check saves the work of storing a job again. It knows only what its own store remembers, and not
the state of a job: the backend's unique jobs still decide.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Literal, Protocol

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError, JsonValue
from ojs_aws.domain.unique.keys import (
    OnConflict,
    UniquePolicy,
    fingerprint,
    has_dimensions,
    key_by,
    parse_unique_policy,
)
from ojs_aws.middleware.protocols import EnqueueNext

DEFAULT_WINDOW_S: Final = 60.0
DEFAULT_MAX_KEYS: Final = 100_000

_DROPPING: Final = (OnConflict.REJECT, OnConflict.IGNORE)


class SeenStore(Protocol):
    """Remembers the keys of jobs for a time. Its methods may be coroutines.

    A store whose methods never wait for anything says so with ``never_waits = True``: PUSH then
    needs no event loop for it.
    """

    def claim(self, key: str, job_id: str, window_s: float) -> str | Awaitable[str | None] | None:
        """Give the key to this job for ``window_s`` seconds, in one atomic step.

        :returns: None, or the id of the job that has the key already and keeps it.
        """

    def release(self, key: str, job_id: str) -> Awaitable[None] | None:
        """Forget the key, if this job has it."""


@dataclass(eq=False, repr=False)
class MemorySeenStore:
    """Remembers keys in this process, at most ``max_keys`` of them. For any number of threads.

    When it is full, the key that was claimed first is forgotten: a duplicate may then pass, and no
    job is ever lost.

    :param clock: monotonic seconds.
    """

    never_waits = True

    max_keys: int = DEFAULT_MAX_KEYS
    _: KW_ONLY
    clock: Callable[[], float] = time.monotonic
    _seen: OrderedDict[str, tuple[str, float]] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        """Remember nothing yet."""
        if self.max_keys < 1:
            raise ValueError(f"max_keys must be at least 1, not {self.max_keys}")

    def claim(self, key: str, job_id: str, window_s: float) -> str | None:
        """Claim a key as :meth:`SeenStore.claim` does."""
        with self._lock:
            now = self.clock()
            self._forget_expired(now)
            holder, until = self._seen.get(key, ("", now))
            if until > now:
                return holder
            self._seen.pop(key, None)
            if len(self._seen) >= self.max_keys:
                self._seen.popitem(last=False)
            self._seen[key] = (job_id, now + window_s)
            return None

    def release(self, key: str, job_id: str) -> None:
        """Release a key as :meth:`SeenStore.release` does."""
        with self._lock:
            if self._seen.get(key, ("", 0.0))[0] == job_id:
                del self._seen[key]

    def __len__(self) -> int:
        """Return how many keys are remembered; some of them may have expired."""
        return len(self._seen)

    def _forget_expired(self, now: float) -> None:
        """Forget expired keys, oldest first; a key with a longer window keeps those behind it."""
        while self._seen:
            key, (_, until) = next(iter(self._seen.items()))
            if until > now:
                return
            del self._seen[key]


@dataclass(eq=False, repr=False)
class DeduplicationMiddleware:
    """Drops a job when one with the same fingerprint was enqueued within the window.

    A job with a ``unique`` policy of its own is compared by that policy's keys and for no longer
    than its period, unless it asks to replace what is there: such a job always passes. A job that
    could not be enqueued, or that something further in dropped, is forgotten again. The very same
    job - the same id - passes: a repeated request must be able to find what the first one made.

    Put it behind validation and whatever sets ``queue`` or ``meta``, and before encryption.

    :param window_s: seconds that a job keeps duplicates out, from when it was enqueued.
    :param policy: compare by other keys: ``UniquePolicy.by("type", "args", args_keys=["id"])``.
        Jobs whose arguments lack those keys pass.
    :param key: compare by what this returns instead, for every job; None lets a job pass.
    :param only_unique: leave jobs without a ``unique`` policy alone (as section 10.1 does).
    :param on_duplicate: ``raise`` raises DuplicateError (409), which names the other job.
    :param store: where keys are remembered; default: in this process.
    :raises ValueError: a window that is not positive, or another ``on_duplicate``.
    """

    window_s: float = DEFAULT_WINDOW_S
    _: KW_ONLY
    policy: UniquePolicy | Mapping[str, JsonValue] | None = None
    key: Callable[[Job], str | None] | None = None
    only_unique: bool = False
    on_duplicate: Literal["drop", "raise"] = "drop"
    store: SeenStore | None = None

    def __post_init__(self) -> None:
        """Compare jobs by type, queue and all arguments, where no other way is said."""
        if self.window_s <= 0:
            raise ValueError(f"window_s must be positive, not {self.window_s}")
        if self.on_duplicate not in ("drop", "raise"):
            raise ValueError(f"on_duplicate must be 'drop' or 'raise', not {self.on_duplicate!r}")
        given = self.policy or UniquePolicy.by("type", "queue", "args")
        self._policy = given if isinstance(given, UniquePolicy) else parse_unique_policy({**given})
        self._store: SeenStore = MemorySeenStore() if self.store is None else self.store
        self.never_waits: bool = getattr(self._store, "never_waits", False)

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on, unless it is a duplicate.

        :raises DuplicateError: it is one, and ``on_duplicate`` is ``raise``.
        :raises InvalidRequestError: its unique policy is invalid.
        """
        key, window_s = self._compared(job)
        if not key:
            return await call_next(job)
        claimed = self._store.claim(key, job.id, window_s)
        holder = await claimed if inspect.isawaitable(claimed) else claimed
        if holder is None:
            return await self._enqueue_claimed(key, job, call_next)
        if holder == job.id:
            return await call_next(job)
        if self.on_duplicate == "raise":
            raise DuplicateError(
                f"Job {job.id} is a duplicate of {holder}, which was enqueued a moment ago.",
                details={"existing_job_id": holder},
                hint="Wait until the window of the deduplication is over, or change the job.",
            )
        return None

    async def _enqueue_claimed(self, key: str, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on, and forget its key if it was not stored."""
        job_id, is_kept = job.id, False
        try:
            stored = await call_next(job)
            is_kept = stored is not None
        except BaseException as problem:
            is_kept = bool(getattr(problem, "stored_job_ids", None))
            raise
        finally:
            if not is_kept:
                released = self._store.release(key, job_id)
                if inspect.isawaitable(released):
                    await released
        return stored

    def _compared(self, job: Job) -> tuple[str, float]:
        """Return the key of a job, empty when it is not compared, and for how long it holds."""
        if self.key is not None:
            return self.key(job) or "", self.window_s
        given = job.get("unique")
        if given is None:
            return "" if self.only_unique else self._by_own_policy(job), self.window_s
        policy = parse_unique_policy(given)
        if policy.on_conflict not in _DROPPING:
            return "", self.window_s
        window_s = self.window_s
        if policy.period_ms is not None:
            window_s = min(window_s, policy.period_ms / 1000)
        return key_by(policy, job), window_s

    def _by_own_policy(self, job: Job) -> str:
        """Return the fingerprint; an empty text where the job lacks what the policy names.

        Such a policy is not meant for jobs of this type: all of them would be the same.
        """
        return fingerprint(job, self._policy) if has_dimensions(job, self._policy) else ""
