"""Lists the attributes of a job that only the system sets (core, section 5.3).

One row adds an attribute of the job's record to all answers, and keeps clients from sending it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """Says where answers show a field of the job's record; one that is None or empty is left out.

    :ivar name: the member of the answers.
    :ivar field: of the record; empty: named like the member.
    :ivar is_instant: its value is an instant, which is shown as a timestamp.
    :ivar is_in_jobs: answers about one job show it, and only the system sets it.
    :ivar is_in_lists: lists of jobs show it.
    """

    name: str
    field: str = ""
    is_instant: bool = True
    is_in_jobs: bool = True
    is_in_lists: bool = True


SHOWN: Final = (
    ShownAttribute("created_at"),
    ShownAttribute("scheduled_at", is_in_jobs=False),  # clients send it: part of the document
    ShownAttribute("enqueued_at"),
    ShownAttribute("activated_at", is_in_lists=False),
    ShownAttribute("started_at"),
    ShownAttribute("completed_at"),
    ShownAttribute("cancelled_at"),
    ShownAttribute("discarded_at"),
    ShownAttribute("next_attempt_at"),
    ShownAttribute("next_retry_at", field="next_attempt_at", is_in_lists=False),
    ShownAttribute("retry_delay_ms", is_instant=False, is_in_lists=False),
    ShownAttribute("expires_at", is_in_jobs=False),  # clients send it, too
)

ShownField = tuple[str, str, bool]
"""A member of an answer, the field of the record, and whether that is an instant."""


def _fields(rows: tuple[ShownAttribute, ...]) -> tuple[ShownField, ...]:
    return tuple((row.name, row.field or row.name, row.is_instant) for row in rows)


IN_JOBS: Final = _fields(tuple(row for row in SHOWN if row.is_in_jobs))
IN_LISTS: Final = _fields(tuple(row for row in SHOWN if row.is_in_lists))

OWN_ATTRIBUTES: Final = frozenset(
    {"x_aws_past_errors", "x_aws_sequence_position", "x_aws_uncounted_attempts"}
)
"""Attributes of this system's own, which only it sets; a client's values are refused."""

SYSTEM_ATTRIBUTES: Final = frozenset(
    {
        *OWN_ATTRIBUTES,
        *(name for name, _, _ in IN_JOBS),
        "state",
        "attempt",
        "reservation_id",
        "max_attempts",
        "error",
        "errors",
        "result",
        "result_stored_at",
        "result_expires_at",
        "result_size_bytes",
        "checkpoint",
        "last_checkpoint",
    }
)
"""Attributes that only the system sets; a client's values are not stored."""
