"""Time and chance, as the client and the worker need them; tests bring their own."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol


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
