"""Changes to the settings of queues, checked (ojs-queue-config, sections 4 and 9).

Every setting has one check, which gives the value that is kept. ``backpressure`` (ojs-backpressure,
6.2) is translated into the settings it stands for. What this backend does not do is refused, with
what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ojs_aws.domain.errors import InvalidRequestError, JsonValue, UnsupportedError
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.queues.config import Members, limit_of, read_config
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import parse_duration
from ojs_aws.domain.validation import invalid

MAX_DEPTH: Final = 1_000_000_000
MAX_VISIBILITY_S: Final = 43_200
MAX_TIMEOUT_S: Final = 604_800
MIN_RETENTION_MS: Final = 1000
MAX_RETENTION_MS: Final = 10**9 * 1000
MAX_TYPES: Final = 100
MAX_PATTERN: Final = 256
MAX_CONFIG_BYTES: Final = 8192


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


# ------------------------------------------------------------------ one check for each setting
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
