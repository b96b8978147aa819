"""Lists the settings of a queue, one row for each (ojs-queue-config, section 6).

A row states the values that a setting can have, its default, and its meaning. The checks of
changes, the settings that are shown, the model of requests and the table in docs/queues.md follow
from the rows. Settings that this backend does not support are refused, with a hint what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Final

from ojs_aws.domain.attributes import invalid
from ojs_aws.domain.errors import InvalidRequestError, JsonValue, UnsupportedError
from ojs_aws.domain.queues.config import DEFAULT_WARNING, limit_of
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import parse_duration

MIN_RETENTION_MS: Final = 1000
MAX_RETENTION_MS: Final = 10**9 * 1000
MAX_PATTERN: Final = 256

Check = Callable[["SettingRow", JsonValue, str], JsonValue]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """Describes one setting of a queue.

    :ivar check: takes the row, a value and the field's name; returns the value to store, or None
        for the default. A group has no check: it is changed member by member.
    :ivar doc: its meaning; empty if it is always refused, or can have one value only.
    :ivar kind: the type of its values.
    :ivar least: the smallest number, or the fewest items.
    :ivar most: the largest number, or the most items.
    :ivar only: the one value that it can have.
    :ivar default: the value that is shown if nothing is set; ``...``: the setting is not shown.
    :ivar deployed: the setting of the deployment whose value is the default.
    :ivar in_backpressure: its name in ``backpressure`` (ojs-backpressure, section 6.2).
    """

    name: str
    check: Check | None
    doc: str = ""
    kind: type = int
    least: int = 0
    most: int = 0
    only: str | int | None = None
    default: JsonValue | EllipsisType = ...
    deployed: str = ""
    in_backpressure: str = ""

    def has(self, number: float) -> bool:
        """Return True if a number is within the bounds."""
        return self.least <= number <= self.most


def _size(row: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, int) or not row.has(value):
        raise invalid(field, f"a whole number up to {row.most}; 0 for no bound", value)
    return value or None


def _unbounded_bytes(_: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if value == 0 and not isinstance(value, bool):
        return None
    raise UnsupportedError(
        f"'{field}' is not supported: queues are bounded by the number of their jobs.",
        details={"field": field},
        hint="Use max_size (backpressure.max_depth); OJS_MAX_ENVELOPE_BYTES bounds each job.",
    )


def _strategy(_: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if value == "reject":
        return None
    if value in ("block", "drop_oldest"):
        raise UnsupportedError(
            f"'{field}' can be reject only, not {value}.",
            details={"field": field, "expected": "reject", "received": str(value)},
            hint="A full queue answers 429 with Retry-After, and the producer decides.",
        )
    raise invalid(field, "reject", value)


def _share(row: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not row.has(value):
        raise invalid(field, f"a number from {row.least} to {row.most}", value)
    return value


def _seconds(row: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if isinstance(value, str):
        milliseconds = parse_duration(value, field)
        value = milliseconds // 1000 if milliseconds % 1000 == 0 else 0
    if isinstance(value, bool) or not isinstance(value, int) or not row.has(value):
        raise invalid(field, f"whole seconds from {row.least} to {row.most}", value)
    return value


def span_of(value: JsonValue, field: str) -> JsonValue:
    """Check how long ended jobs stay, and return the value as it was given.

    :raises InvalidRequestError: it is no duration, or out of range.
    """
    milliseconds = parse_duration(value, field)
    if not MIN_RETENTION_MS <= milliseconds <= MAX_RETENTION_MS:
        raise invalid(field, "a duration of a second or more, such as 7d or P7D", value)
    return value


def _span(_: SettingRow, value: JsonValue, field: str) -> JsonValue:
    return span_of(value, field)


def _retry(_: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if not isinstance(value, dict):
        raise invalid(field, "an object", value)
    try:
        parse_retry_policy(value)
    except InvalidRequestError as problem:
        inner = str(problem.details.get("field", ""))
        problem.details["field"] = inner.replace("retry", field, 1)
        raise
    return value


def _types(row: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if (
        not isinstance(value, list)
        or not row.has(len(value))
        or not all(isinstance(each, str) and 0 < len(each) <= MAX_PATTERN for each in value)
    ):
        raise invalid(field, f"{row.least} to {row.most} job types, such as payment.*", value)
    return value


def _anybody(_: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if value == ["*"]:
        return None
    raise UnsupportedError(
        f"'{field}' cannot be restricted here: who may enqueue is for the API's authorizer to say.",
        details={"field": field, "expected": '["*"]'},
    )


def _shards(row: SettingRow, value: JsonValue, field: str) -> JsonValue:
    if isinstance(value, bool) or not isinstance(value, int) or not row.has(value):
        raise invalid(field, f"a whole number from {row.least} to {row.most}", value)
    return None if value == 1 else value


def _no_target(_: SettingRow, __: JsonValue, field: str) -> JsonValue:
    raise UnsupportedError(
        f"'{field}' is not supported: dead letters stay listed under their own queue.",
        details={"field": field},
        hint="default_retry.on_exhaustion 'dead_letter' keeps exhausted jobs for an operator, and "
        "dead_letter_ttl says for how long.",
    )


def _limiting(_: SettingRow, value: JsonValue, field: str) -> JsonValue:
    limit_of({field: value}, "any")
    return value


def _fairness(_: SettingRow, value: JsonValue, field: str) -> JsonValue:
    from ojs_aws.domain.fairness import check_mode  # few queues are fair

    return check_mode(value, field)


_ROWS: Final = (
    SettingRow(
        "max_size",
        _size,
        "most jobs that have not ended; the same as `backpressure.max_depth`, 0 for none",
        default=None,
        most=1_000_000_000,
        in_backpressure="max_depth",
    ),
    SettingRow("max_size_bytes", _unbounded_bytes, in_backpressure="max_size_bytes"),
    SettingRow(
        "overflow_policy",
        _strategy,
        kind=str,
        only="reject",
        default="reject",
        in_backpressure="strategy",
    ),
    SettingRow(
        "ordering_shards",
        _shards,
        "over how many lines new jobs are spread, where the queue is [wide](wide-queues.md)",
        least=1,
        most=64,
        default=1,
    ),
    SettingRow(
        "warning_threshold",
        _share,
        "share of `max_size` from which producers get a warning",
        kind=float,
        most=1,
        default=DEFAULT_WARNING,
        in_backpressure="warning_threshold",
    ),
    SettingRow(
        "backpressure",
        None,
        "the bound as ojs-backpressure writes it: `max_depth` and `warning_threshold`",
        kind=dict,
    ),
    SettingRow(
        "concurrency",
        _limiting,
        "most jobs that run at once; the same limit as [limits.md](limits.md) sets",
        most=1_000_000,
    ),
    SettingRow(
        "rate_limit",
        _limiting,
        "how many jobs begin in a period, as in [limits.md](limits.md)",
        kind=dict,
    ),
    SettingRow(
        "visibility_timeout",
        _seconds,
        "length of a reservation in seconds, where neither job nor request names one",
        least=1,
        most=43_200,
        deployed="default_visibility_timeout_s",
    ),
    SettingRow(
        "default_timeout",
        _seconds,
        "execution timeout in seconds of a job that names none",
        least=1,
        most=604_800,
        deployed="default_timeout_s",
    ),
    SettingRow(
        "default_retry",
        _retry,
        "retry policy of jobs that have none; it is not merged into a policy that a job has",
        kind=dict,
    ),
    SettingRow(
        "retention",
        None,
        "how long ended jobs stay: `completed`, `discarded`, `cancelled`, such as `P7D`",
        kind=dict,
    ),
    SettingRow(
        "dead_letter_ttl",
        _span,
        "how long dead letters stay, such as `30d` or `P30D`",
        kind=str,
        deployed="dead_letter_retention_s",
    ),
    SettingRow(
        "allowed_job_types",
        _types,
        "patterns such as `payment.*`; other types are refused with `JOB_TYPE_NOT_ALLOWED`",
        kind=list,
        least=1,
        most=100,
        default=["*"],
    ),
    SettingRow(
        "fairness",
        _fairness,
        "whose jobs [share](fairness.md) the starts: `{}` by their own keys, or "
        '`{"by": "meta.tenant_id"}`; with `"cost": "run_time"` they share time',
        kind=dict,
    ),
    SettingRow("dead_letter_queue", _no_target),
    SettingRow("producers", _anybody),
)

SETTINGS: Final[Mapping[str, SettingRow]] = {row.name: row for row in _ROWS}

BACKPRESSURE: Final[Mapping[str, str]] = {
    row.in_backpressure: row.name for row in _ROWS if row.in_backpressure
}
"""The settings in ``backpressure``, by their names there."""

RETENTION: Final[Mapping[str, str]] = {
    "completed": "completed_retention_s",
    "discarded": "discarded_retention_s",
    "cancelled": "completed_retention_s",
}
"""The durations in ``retention``, and the deployment's settings that are their defaults."""
