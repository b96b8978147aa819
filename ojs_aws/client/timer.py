"""Time and chance, as the client and the worker need them; tests bring their own."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol


class Timer(Protocol):
    """Where waiting and chance come from."""

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Let other tasks run for so many seconds."""

    def chance(self) -> float:
        """A number from 0 up to, but not including, 1."""


class SystemTimer:
    """The machine's clock, and the event loop's waiting."""

    def monotonic(self) -> float:
        """Seconds on the machine's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep in the running event loop."""
        await asyncio.sleep(seconds)

    def chance(self) -> float:
        """A pseudo-random number; it only spreads load."""
        return random.random()  # noqa: S311 - spreads load, protects nothing
