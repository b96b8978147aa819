"""Give the client and the worker time, chance and new ids; tests bring their own."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable
from contextlib import suppress
from typing import Final, Protocol

import uuid_utils

from ojs_aws.domain.jobs.attributes import Duration
from ojs_aws.domain.timestamps import duration_ms

POLL_GROWTH: Final = 1.5
MAX_POLL_S: Final = 5.0


class Timer(Protocol):
    """Waits, and gives random numbers."""

    def monotonic(self) -> float:
        """Return the seconds on a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds, while other tasks run."""

    def chance(self) -> float:
        """Return a number from 0 up to, but not including, 1."""


class SystemTimer:
    """Uses the machine's clock and the event loop."""

    def monotonic(self) -> float:
        """Return the seconds on the machine's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep in the running event loop."""
        await asyncio.sleep(seconds)

    def chance(self) -> float:
        """Return a pseudo-random number; it only spreads load."""
        return random.random()  # noqa: S311 - spreads load, protects nothing


class Waiting:
    """Paces requests that ask whether something is over: the pauses between them grow.

    :ivar timeout_s: seconds to wait at most; infinite where it may take as long as it takes.
    """

    def __init__(self, timer: Timer, timeout_s: float | None, poll_s: float) -> None:
        """Begin now.

        :param poll_s: seconds from the first request to the second; the interval grows up to 5 s.
        """
        self._timer = timer
        self.timeout_s = math.inf if timeout_s is None else timeout_s
        self._began = self._asked = timer.monotonic()
        self._interval_s = poll_s
        self._longest_s = max(MAX_POLL_S, poll_s)

    @property
    def left_s(self) -> float:
        """Return the seconds that are left."""
        return self.timeout_s - (self._timer.monotonic() - self._began)

    async def pause(self) -> bool:
        """Wait until the next request is due; return False if the time is over.

        A request that took time itself, because the server waited, makes the pause shorter.
        """
        left_s = self.left_s
        if left_s <= 0:
            return False
        took_s = self._timer.monotonic() - self._asked
        if pause_s := min(max(0.0, self._interval_s - took_s), left_s):
            await self._timer.sleep(pause_s)
        self._asked = self._timer.monotonic()
        self._interval_s = min(self._interval_s * POLL_GROWTH, self._longest_s)
        return True


def wait_s(timeout: Duration | None, timeout_s: float | None) -> float | None:
    """Return the seconds to wait, which the caller gave as a duration or as a number.

    :raises InvalidRequestError: ``timeout`` is no duration.
    """
    return timeout_s if timeout is None else duration_ms(timeout, "timeout") / 1000


async def first_of(*waits: Awaitable[object]) -> None:
    """Wait for whichever ends first; the others are cancelled."""
    tasks = {asyncio.ensure_future(wait) for wait in waits}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def within(timer: Timer, seconds: float, work: Awaitable[object]) -> None:
    """Give a task a little time, and ignore it if it does not finish."""
    task = asyncio.ensure_future(work)
    await first_of(task, timer.sleep(seconds))
    with suppress(Exception, asyncio.CancelledError):
        await task


class UuidV7:
    """Makes UUIDv7 identifiers."""

    def job_id(self) -> str:
        """Return a new lowercase UUIDv7."""
        return str(uuid_utils.uuid7())

    def request_id(self) -> str:
        """Return a new request id."""
        return f"req_{uuid_utils.uuid7()}"
