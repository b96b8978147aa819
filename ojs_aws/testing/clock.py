"""Gives tests the time and the ids that they ask for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from ojs_aws.domain.timestamps import Instant


@dataclass
class FakeClock:
    """A clock that stands still until it is asked to move."""

    at: int = 1_760_000_000_000
    _last: int = 0

    def now(self) -> Instant:
        """Return the current instant."""
        return Instant(self.at)

    def order(self) -> int:
        """Return strictly increasing microseconds."""
        self._last = max(self._last + 1, self.at * 1000)
        return self._last

    def set_back(self, at: int) -> None:
        """Begin again at an earlier time."""
        self.at, self._last = at, 0

    def advance(self, *, ms: int = 0, s: float = 0) -> None:
        """Let time pass."""
        self.at += ms + round(s * 1000)


def counting(prefix: str) -> Callable[[], str]:
    """Make what gives the prefix with another number each time."""
    count = itertools.count(1)
    return lambda: f"{prefix}-{next(count)}"


@dataclass
class CountingIds:
    """Makes ids in sequence: valid UUIDv7 texts that people can distinguish."""

    _count: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def job_id(self) -> str:
        """Return the next job id."""
        return f"01990000-0000-7000-8000-{next(self._count):012x}"

    def request_id(self) -> str:
        """Return the next request id."""
        return f"req_{self.job_id()}"
