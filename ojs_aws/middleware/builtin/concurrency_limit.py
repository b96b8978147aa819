"""Limit how many jobs are executed at a time (middleware specification, section 4.5)."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import ExecutionNext

DEFAULT_WAIT_S: Final = 60.0


class ConcurrencyLimitError(Exception):
    """Raised when no place became free in time to execute the job. Its retry policy applies.

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
    has_place: bool = False


@dataclass(slots=True)
class _Places:
    """Counts the places of one key."""

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
    :raises ValueError: no place at all, or a negative wait.
    """

    limit: int
    _: KW_ONLY
    key: Callable[[Job], str | None] | None = None
    wait_s: float = DEFAULT_WAIT_S
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _places: dict[str, _Places] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Limit each job type by itself."""
        if self.limit < 1 or self.wait_s < 0:
            raise ValueError("limit must be at least 1, and wait_s not negative")

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute the job when there is a place for it.

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
            places = self._places.get(key)
            return 0 if places is None else places.taken

    def waiting(self, key: str) -> int:
        """Return how many jobs of a key wait for a place now."""
        with self._lock:
            places = self._places.get(key)
            return 0 if places is None else len(places.waiting)

    # ------------------------------------------------------------------ places
    async def _take(self, key: str, ctx: JobContext) -> None:
        remaining = ctx.remaining_s()
        seconds = self.wait_s if remaining is None else min(self.wait_s, remaining)
        with self._lock:
            places = self._places.setdefault(key, _Places())
            if places.taken < self.limit:
                places.taken += 1
                return
            if seconds <= 0:
                raise ConcurrencyLimitError(key, self.limit, 0)
            waiter = _Waiter(asyncio.get_running_loop())
            places.waiting.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter.woken.wait()
        except TimeoutError:
            with self._lock:
                if waiter.has_place:  # it came at the last moment
                    return
                places.waiting.remove(waiter)
            raise ConcurrencyLimitError(key, self.limit, seconds) from None
        except BaseException:
            with self._lock:
                if waiter.has_place:
                    self._give_back(key)
                else:
                    places.waiting.remove(waiter)
            raise

    def _give_back(self, key: str) -> None:
        """Hand a place to the one that waits longest; the lock is held."""
        places = self._places[key]
        while places.waiting:
            waiter = places.waiting.popleft()
            try:
                waiter.loop.call_soon_threadsafe(waiter.woken.set)
            except RuntimeError:  # its loop was closed while it waited
                continue
            waiter.has_place = True
            return
        places.taken -= 1
        if not places.taken:
            del self._places[key]
