"""The settings of a queue: what they may say, and what follows from them (ojs-queue-config, 6).

Settings are kept as the members that were given, in one form: the names of ojs-queue-config, with
``backpressure`` (ojs-backpressure, 6.2) translated into them. What is not given is inherited from
the default policy (7.2), and beyond it from the deployment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job_policies import NO_RETENTION, Limit, Retention
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.limits import queue_key
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.timestamps import format_duration, parse_duration

DEFAULT_POLICY: Final = "_default"
"""The name under which the default policy is set; no queue can have it."""

DEFAULT_WARNING: Final = 0.8

Members = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    """Holds the settings of a queue as read values.

    :ivar max_size: most jobs that have not ended; None for any number.
    :ivar warning_threshold: the share of ``max_size`` from which on producers are warned.
    :ivar visibility_timeout_ms: reservation length where neither job nor request names one.
    :ivar default_timeout_ms: execution timeout of a job that names none.
    :ivar default_retry: retry object of a job that brings none, as JSON text.
    :ivar allowed_job_types: patterns of the types that may be enqueued; empty for all.
    :ivar fair_by: what the fairness keys of its jobs are made of; empty for the keys that jobs
        bring, None where the queue is not fair.
    :ivar learns_costs: whether a start costs its key what jobs of its type take in time.
    :ivar shards: how many lines its new jobs are spread over.
    """

    max_size: int | None = None
    warning_threshold: float = DEFAULT_WARNING
    visibility_timeout_ms: int | None = None
    default_timeout_ms: int | None = None
    default_retry: RawJson | None = None
    retention: Retention = NO_RETENTION
    allowed_job_types: tuple[str, ...] = ()
    fair_by: str | None = None
    learns_costs: bool = False
    shards: int = 1

    def allows(self, job_type: str) -> bool:
        """Return whether jobs of a type may be enqueued."""
        patterns = self.allowed_job_types
        return not patterns or any(fnmatchcase(job_type, pattern) for pattern in patterns)


def read_config(members: Mapping[str, JsonValue]) -> QueueConfig:
    """Read kept settings."""
    retry = members.get("default_retry")
    kept = members.get("retention")
    spans = kept if isinstance(kept, dict) else {}
    types = members.get("allowed_job_types")
    patterns = tuple(map(str, types)) if isinstance(types, list) else ()
    warning = members.get("warning_threshold")
    fair = members.get("fairness")
    return QueueConfig(
        max_size=_number(members, "max_size"),
        warning_threshold=float(warning) if isinstance(warning, (int, float)) else DEFAULT_WARNING,
        visibility_timeout_ms=_milliseconds(members, "visibility_timeout"),
        default_timeout_ms=_milliseconds(members, "default_timeout"),
        default_retry=None if retry is None else encode(retry),
        retention=Retention(
            completed_s=_seconds(spans.get("completed")),
            cancelled_s=_seconds(spans.get("cancelled")),
            discarded_s=_seconds(spans.get("discarded")),
            dead_letter_s=_seconds(members.get("dead_letter_ttl")),
        ),
        allowed_job_types=() if patterns == ("*",) else patterns,
        fair_by=str(fair.get("by", "")) if isinstance(fair, dict) else None,
        learns_costs=isinstance(fair, dict) and "cost" in fair,
        shards=_number(members, "ordering_shards") or 1,
    )


def limit_of(members: Mapping[str, JsonValue], queue: str) -> Limit | None:
    """Return the limit of the whole queue that ``concurrency`` and ``rate_limit`` make together.

    :raises InvalidRequestError: one of them is malformed.
    :raises InvalidPolicyError: or cannot be followed.
    """
    rate, concurrency = members.get("rate_limit"), members.get("concurrency")
    if rate is not None and not isinstance(rate, dict):
        raise invalid("rate_limit", "an object with limit and period", rate)
    policy: Members = {**rate} if isinstance(rate, dict) else {}
    if concurrency is not None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 0:
            raise invalid("concurrency", "a whole number from 0 on", concurrency)
        policy["concurrency"] = concurrency
    if not policy:
        return None
    return read_limit({**policy, "key": queue_key(queue)}, queue)


def limit_members(limit: Limit | None) -> Members:
    """Return a queue's limit as settings show it."""
    if limit is None:
        return {}
    members: Members = {}
    if limit.concurrency is not None:
        members["concurrency"] = limit.concurrency
    rate: Members = {} if limit.rate is None else limit.rate.render()
    if limit.throttle is not None:
        rate["throttle"] = limit.throttle.render()
    if limit.rate is not None or limit.throttle is not None:
        members["rate_limit"] = rate
    return members


LIMIT_NAMES: Final = frozenset({"concurrency", "rate_limit"})
"""Settings that are kept with the queue's limit, not among the others."""


def _number(members: Mapping[str, JsonValue], name: str) -> int | None:
    value = members.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _milliseconds(members: Mapping[str, JsonValue], name: str) -> int | None:
    seconds = _number(members, name)
    return None if seconds is None else seconds * 1000


def _seconds(span: JsonValue) -> int | None:
    return None if span is None else max(1, parse_duration(span, "retention") // 1000)


def shown_span(seconds: int) -> str:
    """Return a retention as ISO 8601: whole days where they come out even."""
    days, rest = divmod(seconds, 86_400)
    return f"P{days}D" if days and not rest else format_duration(seconds * 1000)


@dataclass(frozen=True, slots=True)
class Fill:
    """Says how full a bounded queue was found.

    :ivar is_high: above the warning threshold.
    """

    queue: str
    depth: int
    bound: int
    is_high: bool

    @property
    def pressure(self) -> float:
        """Return the depth by the bound, 1 at most."""
        return round(min(1.0, self.depth / self.bound), 4)
