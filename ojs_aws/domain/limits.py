"""Limits on how jobs begin (ojs-rate-limiting): policies, and what they say at an instant.

A bucket counts for all jobs of one key. ``rate`` counts the starts of a window that the first start
opens (a fixed window, not aligned to the clock); ``throttle`` spaces starts evenly; ``concurrency``
counts the jobs that are active.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError, JsonValue
from ojs_aws.domain.timestamps import Instant, format_duration, parse_duration

MAX_KEY: Final = 256
LARGEST: Final = 1_000_000
MAX_PERIOD_MS: Final = 31 * 86_400_000
BUSY_FOR_MS: Final = 5_000
"""When it is asked again whether an active job made room, where nothing says when it will."""

_KEY: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:-]*", re.ASCII)
_UNITS: Final = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}


class OnLimit(StrEnum):
    """What becomes of a job that may not begin."""

    WAIT = "wait"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Window:
    """So many starts in a period (milliseconds)."""

    limit: int
    period_ms: int

    def render(self) -> dict[str, JsonValue]:
        """As the specification writes it."""
        return {"limit": self.limit, "period": format_duration(self.period_ms)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A policy (ojs-rate-limiting, section 6).

    :ivar key: the bucket.
    :ivar concurrency: most active jobs; 0 lets none begin, None any number.
    """

    key: str
    concurrency: int | None = None
    rate: Window | None = None
    throttle: Window | None = None
    on_limit: OnLimit = OnLimit.WAIT

    def render(self) -> dict[str, JsonValue]:
        """As the specification writes it."""
        members: dict[str, JsonValue] = {"key": self.key}
        if self.concurrency is not None:
            members["concurrency"] = self.concurrency
        if self.rate is not None:
            members["rate"] = self.rate.render()
        if self.throttle is not None:
            members["throttle"] = self.throttle.render()
        if self.on_limit is not OnLimit.WAIT:
            members["on_limit"] = str(self.on_limit)
        return members


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """What is counted for a key.

    :ivar version: takes so far; a take is conditional on the one it read.
    :ivar active: jobs that hold a place.
    :ivar opened_at: when the window opened, and ``started`` how many began in it.
    :ivar next_at: before which a throttle lets nobody begin.
    :ivar policy: the policy that was seen last, as JSON text.
    """

    key: str
    version: int = 0
    active: int = 0
    opened_at: Instant | None = None
    started: int = 0
    next_at: Instant | None = None
    policy: str = ""

    def current_count(self, window: Window, now: Instant) -> int:
        """Starts of the window that is open."""
        return self.started if self._is_open(window, now) else 0

    def _is_open(self, window: Window, now: Instant) -> bool:
        return self.opened_at is not None and now < self.opened_at + window.period_ms


@dataclass(frozen=True, slots=True)
class Refusal:
    """A job may not begin.

    :ivar strategy: ``concurrency``, ``rate`` or ``throttle``.
    :ivar until: when it is worth asking again.
    """

    strategy: str
    until: Instant


def take(bucket: Bucket, limit: Limit, now: Instant) -> Bucket | Refusal:
    """The bucket after one more start, or why there is none.

    A start counts in each way that the policy names. Other policies of the same key see it.
    """
    if limit.concurrency is not None and bucket.active >= limit.concurrency:
        return Refusal("concurrency", Instant(now + BUSY_FOR_MS))
    after = replace(bucket, version=bucket.version + 1, active=bucket.active + 1)
    if limit.rate is not None:
        count = bucket.current_count(limit.rate, now)
        if count >= limit.rate.limit:
            opened = bucket.opened_at if bucket.opened_at is not None else now
            return Refusal("rate", Instant(opened + limit.rate.period_ms))
        opened_at = bucket.opened_at if count else now
        after = replace(after, opened_at=opened_at, started=count + 1)
    if limit.throttle is not None:
        if limit.throttle.limit == 0:
            return Refusal("throttle", Instant(now + BUSY_FOR_MS))
        if bucket.next_at is not None and now < bucket.next_at:
            return Refusal("throttle", bucket.next_at)
        spacing = -(-limit.throttle.period_ms // limit.throttle.limit)
        after = replace(after, next_at=Instant(now + spacing))
    return after


def queue_key(queue: str) -> str:
    """The bucket of a whole queue."""
    return f"queue:{queue}"


def read_limit(value: JsonValue, queue: str) -> Limit | None:
    """The ``rate_limit`` attribute of a job, in each form that documents and cases use.

    Without a key the queue is meant.

    :raises InvalidRequestError: something in it is malformed.
    :raises InvalidPolicyError: it is well formed, but cannot be followed.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _malformed("rate_limit", "an object", value)
    key = value.get("key")
    if key is not None and not (
        isinstance(key, str) and len(key) <= MAX_KEY and _KEY.fullmatch(key)
    ):
        expected = f"1 to {MAX_KEY} letters, digits and . _ : -, beginning with a letter or digit"
        raise _malformed("rate_limit.key", expected, key)
    concurrency = value.get("concurrency")
    limit = Limit(
        key=key if isinstance(key, str) else queue_key(queue),
        concurrency=None if concurrency is None else _count("concurrency", concurrency),
        rate=_rate(value),
        throttle=_window("throttle", value.get("throttle")),
        on_limit=_on_limit(value.get("on_limit")),
    )
    if (limit.concurrency, limit.rate, limit.throttle) == (None, None, None):
        raise InvalidPolicyError(
            "The 'rate_limit' attribute limits nothing.",
            details={"field": "rate_limit", "expected": "concurrency, rate or throttle"},
        )
    return limit


def _rate(value: Mapping[str, JsonValue]) -> Window | None:
    """``rate`` as an object; as a number with ``period``; or ``limit``, or ``max_per_<unit>``."""
    for unit, period_ms in _UNITS.items():
        if (most := value.get(f"max_per_{unit}")) is not None:
            return Window(_count(f"max_per_{unit}", most), period_ms)
    rate, period = value.get("rate"), value.get("period")
    if rate is None and value.get("limit") is not None:
        rate = value.get("limit")
    if isinstance(rate, dict) or rate is None:
        return _window("rate", rate)
    return Window(_count("rate", rate), _period("period", period))


def _window(name: str, value: JsonValue) -> Window | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _malformed(f"rate_limit.{name}", "an object with limit and period", value)
    limit, period = value.get("limit"), value.get("period")
    return Window(_count(f"{name}.limit", limit), _period(f"{name}.period", period))


def _count(name: str, value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _malformed(f"rate_limit.{name}", "a whole number", value)
    if not 0 <= value <= LARGEST:
        raise _impossible(f"rate_limit.{name}", f"from 0 to {LARGEST}", value)
    return value


def _period(name: str, value: JsonValue) -> int:
    if isinstance(value, str) and value in _UNITS:
        return _UNITS[value]
    period_ms = parse_duration(value, f"rate_limit.{name}")
    if not 0 < period_ms <= MAX_PERIOD_MS:
        raise _impossible(f"rate_limit.{name}", "more than zero, at most 31 days", str(value))
    return period_ms


def _on_limit(value: JsonValue) -> OnLimit:
    if value is None:
        return OnLimit.WAIT
    if not isinstance(value, str):
        raise _malformed("rate_limit.on_limit", "wait or drop", value)
    if value not in set(OnLimit):
        raise _impossible("rate_limit.on_limit", "wait or drop", value)
    return OnLimit(value)


def _malformed(field: str, expected: str, value: JsonValue) -> InvalidRequestError:
    return InvalidRequestError(
        f"The '{field}' attribute must be {expected}.",
        details={"field": field, "expected": expected, "received": str(value)[:80]},
    )


def _impossible(field: str, expected: str, value: JsonValue) -> InvalidPolicyError:
    return InvalidPolicyError(
        f"The '{field}' attribute must be {expected}.",
        details={"field": field, "expected": expected, "received": str(value)[:80]},
    )
