"""Limits how many requests a credential may make (HTTP binding, section 18).

A token bucket, kept as one number: the instant at which it would be full again if nothing more
came. A request moves that instant on by what one costs; one that would move it too far into the
future is refused. There is nothing to refill, and two writers can add to it without reading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


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
