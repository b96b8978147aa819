"""The settings of a queue: what they may say, and what follows from them (ojs-queue-config, 6).

Settings are kept as the members that were given, in one form: the names of ojs-queue-config, with
``backpressure`` (ojs-backpressure, 6.2) translated into them. What is not given is inherited from
the default policy (7.2), and beyond it from the deployment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError, JsonValue, UnsupportedError
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.limit_policies import read_limit
from ojs_aws.domain.limits import Limit, queue_key
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import format_duration, parse_duration
from ojs_aws.domain.validation import invalid

DEFAULT_POLICY: Final = "_default"
"""The name under which the default policy is set; no queue can have it."""

MAX_DEPTH: Final = 1_000_000_000
MAX_VISIBILITY_S: Final = 43_200
MAX_TIMEOUT_S: Final = 604_800
MIN_RETENTION_MS: Final = 1000
MAX_RETENTION_MS: Final = 10**9 * 1000
MAX_TYPES: Final = 100
MAX_PATTERN: Final = 256
DEFAULT_WARNING: Final = 0.8
MAX_CONFIG_BYTES: Final = 8192

Members = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long ended jobs of a queue stay, in seconds; None where the deployment says it."""

    completed_s: int | None = None
    cancelled_s: int | None = None
    discarded_s: int | None = None
    dead_letter_s: int | None = None


NO_RETENTION: Final = Retention()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    """Settings, read.

    :ivar max_size: most jobs that have not ended; None for any number.
    :ivar warning_threshold: the share of ``max_size`` from which on producers are warned.
    :ivar visibility_timeout_ms: reservation length where neither job nor request names one.
    :ivar default_timeout_ms: execution timeout of a job that names none.
    :ivar default_retry: retry object of a job that brings none, as JSON text.
    :ivar allowed_job_types: patterns of the types that may be enqueued; empty for all.
    """

    max_size: int | None = None
    warning_threshold: float = DEFAULT_WARNING
    visibility_timeout_ms: int | None = None
    default_timeout_ms: int | None = None
    default_retry: RawJson | None = None
    retention: Retention = NO_RETENTION
    allowed_job_types: tuple[str, ...] = ()

    def allows(self, job_type: str) -> bool:
        """Whether jobs of a type may be enqueued."""
        patterns = self.allowed_job_types
        return not patterns or any(fnmatchcase(job_type, pattern) for pattern in patterns)


def changed_members(members: Mapping[str, JsonValue], patch: JsonValue) -> Members:
    """Settings after a change: members that are named get the value, ``null`` takes one away.

    ``retention`` and ``backpressure`` are changed member by member, others as a whole.

    :raises InvalidRequestError: the change names what there is not, or a value that cannot be;
        the details name the field.
    :raises UnsupportedError: it asks for what this backend does not do.
    """
    if not isinstance(patch, dict):
        raise invalid("config", "an object", patch)
    after: Members = dict(members)
    _check_twice(patch)
    for name, value in patch.items():
        if name == "backpressure":
            _change_backpressure(after, value)
        elif name == "retention":
            _change_retention(after, value)
        else:
            _change(after, name, name, value)
    read_config(after)
    if len(encode(after).encode()) > MAX_CONFIG_BYTES:
        raise InvalidRequestError(
            f"The settings of a queue have at most {MAX_CONFIG_BYTES} bytes.",
            details={"field": "config", "max_bytes": MAX_CONFIG_BYTES},
        )
    return after


def _check_twice(patch: Mapping[str, JsonValue]) -> None:
    """Refuse two values for one setting, which has a name of its own and one in backpressure."""
    inner = patch.get("backpressure")
    if not isinstance(inner, dict):
        return
    for inside, name in _BACKPRESSURE.items():
        if inside in inner and name in patch and inner[inside] != patch[name]:
            raise InvalidRequestError(
                f"'{name}' and 'backpressure.{inside}' are one setting, with two values here.",
                details={"field": f"backpressure.{inside}", "expected": f"the value of {name}"},
            )


def read_config(members: Mapping[str, JsonValue]) -> QueueConfig:
    """Read kept settings."""
    retry = members.get("default_retry")
    kept = members.get("retention")
    spans = kept if isinstance(kept, dict) else {}
    types = members.get("allowed_job_types")
    patterns = tuple(map(str, types)) if isinstance(types, list) else ()
    warning = members.get("warning_threshold")
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
    )


def limit_of(members: Mapping[str, JsonValue], queue: str) -> Limit | None:
    """The limit of the whole queue that ``concurrency`` and ``rate_limit`` make together.

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
    """A queue's limit as settings show it."""
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


def _change(after: Members, name: str, field: str, value: JsonValue) -> None:
    """Change one member; ``field`` is how the caller named it."""
    check = _CHECKS.get(name)
    if check is None:
        raise InvalidRequestError(
            f"A queue has no setting '{field[:80]}'.",
            details={"field": field[:80], "expected": ", ".join(sorted(_CHECKS))},
            hint="GET /ojs/v1/queues/{name}/config shows the settings with their defaults.",
        )
    if value is None:
        after.pop(name, None)
        return
    kept = check(value, field)
    if kept is None:
        after.pop(name, None)
    else:
        after[name] = kept


def _change_backpressure(after: Members, value: JsonValue) -> None:
    if value is None:
        for name in _BACKPRESSURE.values():
            after.pop(name, None)
        return
    if not isinstance(value, dict):
        raise invalid("backpressure", "an object", value)
    for name, member in value.items():
        field = f"backpressure.{name[:80]}"
        if name not in _BACKPRESSURE:
            raise InvalidRequestError(
                f"There is no '{field}'.",
                details={"field": field, "expected": ", ".join(_BACKPRESSURE)},
            )
        _change(after, _BACKPRESSURE[name], field, member)


def _change_retention(after: Members, value: JsonValue) -> None:
    if value is None:
        after.pop("retention", None)
        return
    if not isinstance(value, dict):
        raise invalid("retention", "an object", value)
    kept = after.get("retention")
    spans: Members = {**kept} if isinstance(kept, dict) else {}
    for name, span in value.items():
        field = f"retention.{name[:80]}"
        if name not in _RETAINED:
            raise InvalidRequestError(
                f"There is no '{field}'.",
                details={"field": field, "expected": ", ".join(_RETAINED)},
            )
        if span is None:
            spans.pop(name, None)
        else:
            spans[name] = _span(span, field)
    after["retention"] = spans
    if not spans:
        del after["retention"]


def _size(value: JsonValue, field: str) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_DEPTH:
        raise invalid(field, f"a whole number up to {MAX_DEPTH}; 0 for no bound", value)
    return value or None


def _unbounded_bytes(value: JsonValue, field: str) -> JsonValue:
    if value == 0 and not isinstance(value, bool):
        return None
    raise UnsupportedError(
        f"'{field}' is not supported: queues are bounded by the number of their jobs.",
        details={"field": field},
        hint="Use max_size (backpressure.max_depth); OJS_MAX_ENVELOPE_BYTES bounds each job.",
    )


def _strategy(value: JsonValue, field: str) -> JsonValue:
    if value == "reject":
        return None
    if value in ("block", "drop_oldest"):
        raise UnsupportedError(
            f"'{field}' can be reject only, not {value}.",
            details={"field": field, "expected": "reject", "received": str(value)},
            hint="A full queue answers 429 with Retry-After, and the producer decides.",
        )
    raise invalid(field, "reject", value)


def _share(value: JsonValue, field: str) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise invalid(field, "a number from 0 to 1", value)
    return value


def _within(most_s: int) -> Callable[[JsonValue, str], JsonValue]:
    def check(value: JsonValue, field: str) -> JsonValue:
        if isinstance(value, str):
            milliseconds = parse_duration(value, field)
            value = milliseconds // 1000 if milliseconds % 1000 == 0 else 0
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most_s:
            raise invalid(field, f"whole seconds from 1 to {most_s}", value)
        return value

    return check


def _span(value: JsonValue, field: str) -> JsonValue:
    milliseconds = parse_duration(value, field)
    if not MIN_RETENTION_MS <= milliseconds <= MAX_RETENTION_MS:
        raise invalid(field, "a duration of a second or more, such as P7D", value)
    return value


def _retry(value: JsonValue, field: str) -> JsonValue:
    if not isinstance(value, dict):
        raise invalid(field, "an object", value)
    try:
        parse_retry_policy(value)
    except InvalidRequestError as problem:
        inner = str(problem.details.get("field", ""))
        problem.details["field"] = inner.replace("retry", field, 1)
        raise
    return value


def _types(value: JsonValue, field: str) -> JsonValue:
    if (
        not isinstance(value, list)
        or not 0 < len(value) <= MAX_TYPES
        or not all(isinstance(each, str) and 0 < len(each) <= MAX_PATTERN for each in value)
    ):
        raise invalid(field, f"1 to {MAX_TYPES} job types, such as payment.*", value)
    return value


def _anybody(value: JsonValue, field: str) -> JsonValue:
    if value == ["*"]:
        return None
    raise UnsupportedError(
        f"'{field}' cannot be restricted here: who may enqueue is for the API's authorizer to say.",
        details={"field": field, "expected": '["*"]'},
    )


def _one_shard(value: JsonValue, field: str) -> JsonValue:
    if value == 1 and not isinstance(value, bool):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise invalid(field, "1", value)
    raise UnsupportedError(
        f"'{field}' can be 1 only, not {value}: the order of a queue is strict.",
        details={"field": field, "expected": "1", "received": str(value)},
        hint="For more than 500 jobs a second use several queues; a worker can serve all of them.",
    )


def _no_target(_: JsonValue, field: str) -> JsonValue:
    raise UnsupportedError(
        f"'{field}' is not supported: dead letters stay listed under their own queue.",
        details={"field": field},
        hint="default_retry.on_exhaustion 'dead_letter' keeps exhausted jobs for an operator, and "
        "dead_letter_ttl says for how long.",
    )


def _limiting(value: JsonValue, field: str) -> JsonValue:
    limit_of({field: value}, "any")
    return value


_CHECKS: Final[Mapping[str, Callable[[JsonValue, str], JsonValue]]] = {
    "max_size": _size,
    "max_size_bytes": _unbounded_bytes,
    "overflow_policy": _strategy,
    "warning_threshold": _share,
    "concurrency": _limiting,
    "rate_limit": _limiting,
    "visibility_timeout": _within(MAX_VISIBILITY_S),
    "default_timeout": _within(MAX_TIMEOUT_S),
    "default_retry": _retry,
    "dead_letter_queue": _no_target,
    "dead_letter_ttl": _span,
    "allowed_job_types": _types,
    "ordering_shards": _one_shard,
    "producers": _anybody,
}

_BACKPRESSURE: Final = {
    "max_depth": "max_size",
    "max_size_bytes": "max_size_bytes",
    "strategy": "overflow_policy",
    "warning_threshold": "warning_threshold",
}

_RETAINED: Final = ("completed", "discarded", "cancelled")


def _number(members: Mapping[str, JsonValue], name: str) -> int | None:
    value = members.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _milliseconds(members: Mapping[str, JsonValue], name: str) -> int | None:
    seconds = _number(members, name)
    return None if seconds is None else seconds * 1000


def _seconds(span: JsonValue) -> int | None:
    return None if span is None else max(1, parse_duration(span, "retention") // 1000)


def shown_span(seconds: int) -> str:
    """A retention as ISO 8601: whole days where they come out even."""
    days, rest = divmod(seconds, 86_400)
    return f"P{days}D" if days and not rest else format_duration(seconds * 1000)
