"""Reads the retry policy and computes when it retries (ojs-retry)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import (
    InvalidPolicyError,
    InvalidRequestError,
    JsonValue,
    OjsError,
)
from ojs_aws.domain.json_text import json_type
from ojs_aws.domain.timestamps import (
    DURATION_FORMS,
    MAX_DURATION_MS,
    format_duration,
    parse_duration,
)

MAX_ATTEMPTS: Final = 1_000_000
MAX_PATTERNS: Final = 100
MAX_COEFFICIENT: Final = 1000.0


class BackoffStrategy(StrEnum):
    """Says how the delay grows from retry to retry (ojs-retry, section 3)."""

    NONE = "none"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"
    POLYNOMIAL = "polynomial"


class Exhaustion(StrEnum):
    """Says where a job goes that may not be retried."""

    DISCARD = "discard"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Holds a complete retry policy; the defaults are the specification's (section 8).

    :ivar max_attempts: executions in all, the first included; 0 and 1 both mean no retry.
    :ivar initial_interval_ms: delay before the first retry, in milliseconds; at least 1.
    :ivar max_interval_ms: cap of every delay, before and after jitter, in milliseconds; at least
        the initial interval.
    :ivar non_retryable_errors: names, or prefixes that end in ``.*``.
    """

    max_attempts: int = 3
    initial_interval_ms: int = 1000
    backoff_coefficient: float = 2.0
    strategy: BackoffStrategy = BackoffStrategy.EXPONENTIAL
    max_interval_ms: int = 300_000
    jitter: bool = True
    non_retryable_errors: tuple[str, ...] = ()
    on_exhaustion: Exhaustion = Exhaustion.DISCARD

    def delay_ms(self, retry: int, seed: str) -> int:
        """Return the backoff before a retry, in milliseconds (sections 3 and 5).

        The jitter is drawn from a hash of the seed, not from a generator: whoever computes the
        delay of one attempt comes to the same instant, so two processes that settle one job
        cannot disagree, while different jobs still spread evenly over [0.5, 1.5).

        :param retry: 1 for the first retry.
        :param seed: what makes this delay differ from others: job id and attempt.
        """
        capped = min(self._raw_delay(retry), float(self.max_interval_ms))
        if self.jitter:
            capped = min(capped * _jitter(seed), float(self.max_interval_ms))
        return round(capped)

    def _raw_delay(self, retry: int) -> float:
        interval, coefficient = float(self.initial_interval_ms), self.backoff_coefficient
        try:
            match self.strategy:
                case BackoffStrategy.NONE:
                    return interval
                case BackoffStrategy.LINEAR:
                    return interval * retry
                case BackoffStrategy.POLYNOMIAL:
                    return interval * math.pow(retry, coefficient)
                case BackoffStrategy.EXPONENTIAL:
                    return interval * math.pow(coefficient, retry - 1)
        except OverflowError:
            return float(self.max_interval_ms)

    def forbids(self, *names: str) -> bool:
        """Return whether a name of the error matches a non-retryable pattern (section 6.2)."""
        patterns = self.non_retryable_errors
        return any(_matches(pattern, name) for pattern in patterns for name in names)


def _jitter(seed: str) -> float:
    digest = hashlib.sha256(seed.encode()).digest()
    return 0.5 + int.from_bytes(digest[:7], "big") / 2**56


def _matches(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith(".*") else name == pattern


def parse_retry_policy(value: JsonValue) -> RetryPolicy:
    """Read a partial policy; what it omits keeps its default (section 8.1).

    :raises InvalidRequestError: an attribute has the wrong type or form.
    :raises InvalidPolicyError: every attribute is well formed, but one cannot be followed.
    """
    if value is None:
        return RetryPolicy()
    if not isinstance(value, dict):
        raise _malformed("retry", "an object", value)
    given = _canonical(value)
    read: dict[str, Any] = {}
    for name, (attribute, reader) in _READERS.items():
        if name in given:
            written, item = given[name]
            read[attribute] = reader(item, f"retry.{written}")
    policy = RetryPolicy(**read)
    return _with_checked_intervals(policy, has_own_cap="max_interval" in given)


def read_retry_policy(value: JsonValue) -> RetryPolicy:
    """Read a stored policy, whatever version of the system accepted it.

    It was checked when its job was enqueued. What this version cannot follow keeps its default
    rather than making the job unreadable: a job must end, also under rules of another time.
    """
    if not isinstance(value, dict):
        return RetryPolicy()
    read: dict[str, Any] = {}
    given = _canonical(value)
    for name, (attribute, reader) in _READERS.items():
        if name in given:
            with suppress(OjsError):
                read[attribute] = reader(given[name][1], name)
    if read.get("initial_interval_ms") == 0:
        del read["initial_interval_ms"]
    policy = RetryPolicy(**read)
    if "max_interval_ms" not in read:
        return replace(
            policy, max_interval_ms=max(policy.max_interval_ms, policy.initial_interval_ms)
        )
    return policy


def _canonical(policy: Mapping[str, JsonValue]) -> dict[str, tuple[str, JsonValue]]:
    """Return attributes by their own names, which outweigh other spellings."""
    given: dict[str, tuple[str, JsonValue]] = {}
    for name, item in policy.items():
        canonical = _ALIASES.get(name, name)
        if item is not None and (name == canonical or canonical not in given):
            given[canonical] = (name, item)
    return given


def _with_checked_intervals(policy: RetryPolicy, *, has_own_cap: bool) -> RetryPolicy:
    """Check section 11.1's two rules on intervals; a long interval raises a default cap."""
    first, cap = policy.initial_interval_ms, policy.max_interval_ms
    if first <= 0:
        raise _impossible("retry.initial_interval", "greater than zero", format_duration(first))
    if cap < first and not has_own_cap:
        return replace(policy, max_interval_ms=first)
    if cap < first:
        raise _impossible(
            "retry.max_interval",
            f"at least the initial interval ({format_duration(first)})",
            format_duration(cap),
        )
    return policy


def _attempts(value: JsonValue, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _malformed(field, "an integer", value)
    if not 0 <= value <= MAX_ATTEMPTS:
        raise _impossible(field, f"from 0 to {MAX_ATTEMPTS}", value)
    return value


def _interval(value: JsonValue, field: str) -> int:
    if isinstance(value, str):
        return parse_duration(value, field)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _malformed(field, f"{DURATION_FORMS}, or a whole number of milliseconds", value)
    if not 0 <= value <= MAX_DURATION_MS:
        raise _impossible(field, "a number of milliseconds that is not negative", value)
    return value


def _coefficient(value: JsonValue, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _malformed(field, "a number", value)
    if not 1.0 <= value <= MAX_COEFFICIENT:
        raise _impossible(field, f"from 1.0 to {MAX_COEFFICIENT}", value)
    return float(value)


def _flag(value: JsonValue, field: str) -> bool:
    if not isinstance(value, bool):
        raise _malformed(field, "a boolean", value)
    return value


def _patterns(value: JsonValue, field: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _malformed(field, "an array of non-empty strings", value)
    if len(value) > MAX_PATTERNS:
        raise _impossible(field, f"at most {MAX_PATTERNS} entries", len(value))
    return tuple(str(item) for item in value)


def _strategy(value: JsonValue, field: str) -> BackoffStrategy:
    name = "none" if value == "constant" else value
    return BackoffStrategy(_one_of(name, field, BackoffStrategy))


def _exhaustion(value: JsonValue, field: str) -> Exhaustion:
    return Exhaustion(_one_of(value, field, Exhaustion))


def _one_of(value: JsonValue, field: str, choices: type[StrEnum]) -> str:
    if not isinstance(value, str):
        raise _malformed(field, "a string", value)
    names = [choice.value for choice in choices]
    if value not in names:
        raise _impossible(field, "one of " + ", ".join(names), value)
    return value


_READERS: Final[Mapping[str, tuple[str, Callable[[JsonValue, str], object]]]] = {
    "max_attempts": ("max_attempts", _attempts),
    "initial_interval": ("initial_interval_ms", _interval),
    "backoff_coefficient": ("backoff_coefficient", _coefficient),
    "backoff_strategy": ("strategy", _strategy),
    "max_interval": ("max_interval_ms", _interval),
    "jitter": ("jitter", _flag),
    "non_retryable_errors": ("non_retryable_errors", _patterns),
    "on_exhaustion": ("on_exhaustion", _exhaustion),
}
_ALIASES: Final = {
    "initial_interval_ms": "initial_interval",
    "max_interval_ms": "max_interval",
    "backoff_multiplier": "backoff_coefficient",
    "strategy": "backoff_strategy",
    "backoff": "backoff_strategy",
    "backoff_type": "backoff_strategy",
}
POLICY_MEMBERS: Final = frozenset({*_READERS, *_ALIASES})
"""Every member that a retry policy may have, by each name that is understood."""


def _malformed(field: str, expected: str, value: JsonValue) -> InvalidRequestError:
    message = f"The '{field}' attribute must be {expected}, not a JSON {json_type(value)}."
    return field_error(field, message, expected=expected, received=json_type(value))


def _impossible(field: str, expected: str, value: float | str) -> InvalidPolicyError:
    return InvalidPolicyError(
        f"The '{field}' attribute must be {expected}, not {str(value)[:40]}.",
        details={"field": field, "expected": expected, "received": str(value)[:40]},
    )
