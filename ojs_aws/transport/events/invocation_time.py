"""Tells how much time an invocation of a function has left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

BEGIN_MS: Final = 20_000
"""No call begins later than this before the end: one that hangs takes up to 18 s."""

HOOK_MS: Final = 30_000
"""No code of users begins later than this before the end: what comes after it needs time, too."""

ANSWER_MS: Final = 10_000
"""A pause ends this long before the end."""


@dataclass(frozen=True, slots=True)
class InvocationTime:
    """Says what there is still time for; outside of Lambda there is no end.

    :ivar left_ms: returns the milliseconds until Lambda ends the invocation; None for no end.
    """

    left_ms: Callable[[], int] | None = None

    def has(self, needed_ms: int = BEGIN_MS) -> bool:
        """Return whether there is more time than this."""
        return self.left_ms is None or self.left_ms() > needed_ms

    def longest_pause_s(self) -> float:
        """Return how long a pause may last."""
        if self.left_ms is None:
            return 0.0
        return max(0.0, (self.left_ms() - ANSWER_MS) / 1000)


def time_of(context: object) -> InvocationTime:
    """Return the time of an invocation, by the context that Lambda hands over."""
    return InvocationTime(getattr(context, "get_remaining_time_in_millis", None))
