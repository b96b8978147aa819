"""Shows when a job is retried, as a retry policy says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from ojs_aws.domain.retry import RetryPolicy

MOST: Final = 1000
"""Delays that a schedule holds at most; a policy may allow a million attempts."""

SHOWN: Final = 20

_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


class RetrySchedule(tuple[timedelta, ...]):
    """Holds the delays before the retries, without jitter; its text is for people."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the delays as text: ``1s, 2s, 4s, 8s``."""
        texts = [short(delay // timedelta(milliseconds=1)) for delay in self[:SHOWN]]
        more = len(self) - SHOWN
        return ", ".join(texts) + (f" and {more} more" if more > 0 else "") or "no retries"


def schedule_of(policy: RetryPolicy) -> RetrySchedule:
    """Return the delays of a policy, the first 1000 at most."""
    even = replace(policy, jitter=False)
    retries = min(max(policy.max_attempts, 1) - 1, MOST)
    return RetrySchedule(
        timedelta(milliseconds=even.delay_ms(number, "")) for number in range(1, retries + 1)
    )


def short(milliseconds: int) -> str:
    """Return a duration in the short form that policies take, in up to two units: ``1h30m``."""
    parts: list[str] = []
    for name, size in _UNITS:
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts[:2]) or "0s"
