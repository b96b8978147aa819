"""Writes numbers, times and durations of answers as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

_SHARES: Final = ("p50", "p95", "p99")
_SECOND_MS: Final = 1000


def duration_text(ms: object) -> str:
    """Return a length of time in milliseconds for people, such as ``430 ms`` or ``2.4 s``."""
    from ojs_aws.domain.timestamps import span_text

    if not isinstance(ms, int | float):
        return ""
    if ms < _SECOND_MS:
        return f"{round(ms)} ms"
    return f"{ms / _SECOND_MS:.1f} s" if ms < 60 * _SECOND_MS else span_text(round(ms))


def spread_text(percentiles: object) -> str:
    """Return percentiles of times as ``40 ms, 1.2 s, 3.0 s``; empty if nothing was measured."""
    found = percentiles if isinstance(percentiles, dict) else {}
    return ", ".join(filter(None, (duration_text(found.get(each)) for each in _SHARES)))


def counted(number: int, thing: str) -> str:
    """Return a number of things, such as ``1 job`` and ``2 jobs``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def when_text(text: object) -> str:
    """Return when an instant of an answer is, such as ``5 min ago`` or ``in 3 h``."""
    if not isinstance(text, str):
        return ""
    is_past = datetime.fromisoformat(text) <= datetime.now(UTC)
    return f"{age_text(text)} ago" if is_past else f"in {age_text(text)}"


def with_ages(members: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the members of an answer; instants also say how far they are from now."""
    for name, value in members.items():
        shown = value
        if name.endswith(("_at", "_until")):
            with suppress(ValueError, TypeError):  # what clients add to a job may be anything
                shown = f"{value} ({when})" if (when := when_text(value)) else value
        yield name, shown


def age_text(text: object, now: datetime | None = None) -> str:
    """Return how far an instant of an answer is from now, such as ``5 min``; empty for none."""
    from ojs_aws.domain.timestamps import span_text

    if not isinstance(text, str):
        return ""
    apart = (now or datetime.now(UTC)) - datetime.fromisoformat(text)
    return span_text(abs(round(apart.total_seconds() * 1000)))


def rates_of(throughput: object) -> tuple[float, float]:
    """Return how many jobs completed, and how many attempts failed, in a minute.

    In the answer, ``processed`` includes jobs that failed for good; ``retried`` counts the other
    failures.
    """
    found = throughput if isinstance(throughput, dict) else {}
    ended, failed, retried = (
        value if isinstance(value := found.get(f"{name}_per_minute"), int | float) else 0.0
        for name in ("processed", "failed", "retried")
    )
    return round(ended - failed, 2), round(failed + retried, 2)
