"""Holds the policies of a job as values: how it is retried, what it is a duplicate of, its limit.

A policy is checked where it is written down, and is a mapping of the members that it sends: it can
stand wherever the wire's object can.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, Never

from ojs_aws.client.retry_rules import (
    OneOrMoreErrors,
    RetrySchedule,
    error_classes,
    error_names,
    schedule_of,
)
from ojs_aws.domain.errors import InvalidPolicyError, JsonValue
from ojs_aws.domain.jobs.attributes import Duration
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import duration_ms, format_duration
from ojs_aws.domain.unique.keys import parse_unique_policy

_RETRY_NAMES: Final[Mapping[str, str]] = {
    "attempts": "max_attempts",
    "autoretry_for": "retry_on",
    "backoff": "backoff_strategy",
    "base": "backoff_coefficient",
    "coefficient": "backoff_coefficient",
    "delay": "initial_interval",
    "dont_autoretry_for": "non_retryable_errors",
    "initial_interval_ms": "initial_interval",
    "max_delay": "max_interval",
    "max_interval_ms": "max_interval",
    "max_retries": "max_attempts",
    "retries": "max_attempts",
    "retry_backoff_max": "max_interval",
}
_UNIQUE_NAMES: Final[Mapping[str, str]] = {
    "by": "keys",
    "conflict": "on_conflict",
    "for": "period",
    "period_ms": "period",
    "ttl": "period",
    "within": "period",
}
_LIMIT_NAMES: Final[Mapping[str, str]] = {
    "limit": "rate",
    "max_concurrency": "concurrency",
    "max_running": "concurrency",
    "name": "key",
    "per": "rate",
}


class Policy(Mapping[str, JsonValue]):
    """Serves as the base of the policies: a mapping that does not change."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, JsonValue | None]) -> None:
        """Keep the members that were given."""
        self._members = {name: each for name, each in members.items() if each is not None}

    def __getitem__(self, name: str) -> JsonValue:
        """Return a member as it is sent."""
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the members."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return how many members are sent."""
        return len(self._members)

    def __hash__(self) -> int:
        """Return the same for equal policies."""
        return hash(encode({name: self._members[name] for name in sorted(self._members)}))

    def __repr__(self) -> str:
        """Show its members."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self._members.items())
        return f"{type(self).__name__}({shown})"


class RetryPolicy(Policy):
    """Says how often and when a job is tried again. What is left out keeps its default.

    Example::

        RetryPolicy(max_attempts=5, initial_interval="2s")
        print(RetryPolicy(max_attempts=5).schedule())  # 1s, 2s, 4s, 8s

    :ivar retry_on: classes of the only errors that are retried; None for all. It is not sent: the
        worker compares what the function of a declared job raises.
    """

    __slots__ = ("retry_on",)

    def __init__(
        self,
        *,
        max_attempts: int | None = None,
        initial_interval: Duration | None = None,
        backoff_coefficient: float | None = None,
        backoff_strategy: Literal["none", "linear", "exponential", "polynomial"] | None = None,
        max_interval: Duration | None = None,
        jitter: bool | None = None,
        non_retryable_errors: Sequence[str] | None = None,
        retry_on: OneOrMoreErrors | None = None,
        on_exhaustion: Literal["discard", "dead_letter"] | None = None,
        **unknown: Never,
    ) -> None:
        """Describe the retries.

        :param max_attempts: executions in all, the first one included; default 3. 0 is as 1.
        :param initial_interval: before the first retry; default one second.
        :param backoff_coefficient: by which each delay is longer than the one before; default 2.
        :param backoff_strategy: how delays grow; default ``exponential``.
        :param max_interval: the longest delay; default five minutes, or a longer
            ``initial_interval``.
        :param jitter: spread each delay between half and one and a half times; default True.
        :param non_retryable_errors: types of errors that end the job; ``"auth.*"`` is a prefix.
        :param retry_on: classes of the only errors that are retried, for a declared job.
        :param on_exhaustion: where a job goes that may not be retried; default ``discard``.
        :raises TypeError: a name that no retry policy has, or a class in place of an error's name;
            the message says what was meant.
        :raises InvalidRequestError: a value of a wrong type or form.
        :raises InvalidPolicyError: a value that cannot be followed.
        """
        members: dict[str, JsonValue] = {
            "max_attempts": max_attempts,
            "initial_interval": _duration(initial_interval, "retry.initial_interval"),
            "backoff_coefficient": backoff_coefficient,
            "backoff_strategy": backoff_strategy,
            "max_interval": _duration(max_interval, "retry.max_interval"),
            "jitter": jitter,
            "non_retryable_errors": error_names(non_retryable_errors),
            "on_exhaustion": on_exhaustion,
        }
        _refuse(type(self), unknown, (*members, "retry_on"), _RETRY_NAMES)
        super().__init__(members)
        self.retry_on = error_classes(retry_on)
        parse_retry_policy(dict(self))

    def schedule(self) -> RetrySchedule:
        """Return the delays before the retries, without their jitter; print them to see them."""
        return schedule_of(parse_retry_policy(dict(self)))


class UniquePolicy(Policy):
    """Says which other jobs a job is a duplicate of, and what happens then.

    Example::

        UniquePolicy(keys=["type", "args"], period="1h", on_conflict="ignore")
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        keys: Sequence[Literal["type", "queue", "args", "meta"]] = ("type", "args"),
        args_keys: Sequence[str] | None = None,
        meta_keys: Sequence[str] | None = None,
        period: Duration | None = None,
        states: Sequence[str] | None = None,
        on_conflict: (
            Literal["reject", "replace", "replace_except_schedule", "ignore"] | None
        ) = None,
        **unknown: Never,
    ) -> None:
        """Describe the duplicates.

        :param keys: what two jobs must have in common; ``type`` is always one of them. Default:
            the type and the arguments (a policy on the wire without ``keys`` means the type alone).
        :param args_keys: the arguments that count: of a typed job names of parameters, of others
            positions such as ``"0"`` and members of objects. Default: all.
        :param meta_keys: the metadata that counts, where ``keys`` has ``meta``.
        :param period: how long a job keeps others out; default: as long as it has not ended.
        :param states: a job in another state keeps nobody out.
        :param on_conflict: default ``reject``, which raises DuplicateError.
        :raises TypeError: a name that no unique policy has; the message says what was meant.
        :raises InvalidRequestError: a value of a wrong type or form.
        """
        members: dict[str, JsonValue] = {
            "keys": _words(keys),
            "args_keys": _words(args_keys),
            "meta_keys": _words(meta_keys),
            "period": _duration(period, "unique.period"),
            "states": _words(states),
            "on_conflict": on_conflict,
        }
        _refuse(type(self), unknown, members, _UNIQUE_NAMES)
        super().__init__(members)
        parse_unique_policy(dict(self))


class RateLimit(Policy):
    """Says how many jobs of one key may run at once, or begin in a period.

    Example::

        RateLimit(key="crm", concurrency=5, rate=(100, "1m"))
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        key: str,
        by: str | Sequence[str] | None = None,
        concurrency: int | None = None,
        rate: tuple[int, Duration] | None = None,
        throttle: tuple[int, Duration] | None = None,
        on_limit: Literal["wait", "drop", "reschedule"] | None = None,
        **unknown: Never,
    ) -> None:
        """Describe the limit.

        :param key: jobs with the same key share the limit.
        :param by: values of the job that extend the key: ``"meta.tenant"``, ``["args.0.city"]``.
        :param concurrency: jobs that run at once at most.
        :param rate: jobs that begin in a period at most: ``(100, "1m")``.
        :param throttle: likewise, evenly spread over the period.
        :param on_limit: what happens to a job that may not begin; default ``wait``.
        :raises TypeError: a name that no limit has; the message says what was meant.
        :raises InvalidRequestError: a value of a wrong type or form.
        :raises InvalidPolicyError: it limits nothing, or cannot be followed.
        """
        members: dict[str, JsonValue] = {
            "key": key,
            "by": _words(by),
            "concurrency": concurrency,
            "rate": _window(rate, "rate_limit.rate"),
            "throttle": _window(throttle, "rate_limit.throttle"),
            "on_limit": on_limit,
        }
        _refuse(type(self), unknown, members, _LIMIT_NAMES)
        super().__init__(members)
        read_limit({**self, "by": None}, "default")
        with suppress(InvalidPolicyError):  # the values of the job are not known yet
            read_limit(dict(self), "default")


def _duration(duration: Duration | None, field: str) -> str | None:
    """Return a duration as it is sent: a text stays as it is."""
    if duration is None:
        return None
    milliseconds = duration_ms(duration, field)
    return duration if isinstance(duration, str) else format_duration(milliseconds)


def _window(window: tuple[int, Duration] | None, field: str) -> JsonValue:
    if window is None:
        return None
    given: object = window  # whatever the annotation says
    if not isinstance(given, tuple) or len(given) != len(("limit", "period")):
        raise TypeError(f'The {field} must be a number and a period such as (100, "1m").')
    return {"limit": window[0], "period": _duration(window[1], f"{field}.period")}


def _words(words: Sequence[str] | None) -> JsonValue:
    """Return words as a list; a text stays what it is, for the check to refuse."""
    if isinstance(words, str):
        return words
    return None if words is None else list(words)


def _refuse(
    policy: type[Policy],
    unknown: Mapping[str, object],
    known: Iterable[str],
    others: Mapping[str, str],
) -> None:
    """Refuse names that a policy does not have."""
    for name in unknown:
        close = difflib.get_close_matches(name, list(known), n=1)
        meant = others.get(name) or (close[0] if close else "")
        raise TypeError(
            f"{policy.__name__} has no option {name!r}"
            + (f": did you mean {meant!r}?" if meant else ".")
            + f" It has {', '.join(known)}."
        )
