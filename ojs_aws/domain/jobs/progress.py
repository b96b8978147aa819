"""Reads and records how far an execution has come (ojs-progress, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.attributes import field_error, invalid, too_large
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member, RawJson
from ojs_aws.domain.timestamps import Instant

MAX_DATA_BYTES: Final = 4096
"""Of ``data``: it is written with every report, and stays with the job (section 5.2)."""

MAX_MESSAGE: Final = 1000

_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Holds the progress of one attempt.

    :ivar attempt: the attempt that reported it; another one starts without (section 5.3).
    :ivar fraction: from 0.0 to 1.0; None while only data was reported.
    :ivar data: JSON object of the application's own.
    :ivar message: for people.
    """

    attempt: int
    updated_at: Instant
    fraction: float | None = None
    data: RawJson | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReport:
    """Holds one report of progress; None for what it leaves out."""

    fraction: float | None = None
    data: RawJson | None = None
    message: str | None = None


def read_report(members: Mapping[str, Member]) -> ProgressReport:
    """Read a report: ``progress`` from 0 to 1, or ``percentage`` from 0 to 100.

    Numbers beyond are clamped (section 5.1).

    :raises InvalidRequestError: it says nothing, or a member has the wrong type.
    :raises PayloadTooLargeError: more data than is kept.
    """
    given = {name: member for name, member in members.items() if member.value is not None}
    report = ProgressReport(
        fraction=_fraction(given), data=_data(given.get("data")), message=_message(given)
    )
    if report == ProgressReport():
        message = "A progress report must have 'progress' or 'data'."
        raise field_error("progress", message, expected="a number from 0.0 to 1.0")
    return report


def _fraction(given: Mapping[str, Member]) -> float | None:
    for name, whole in (("progress", 1), ("percentage", _PERCENT), ("percent", _PERCENT)):
        if name in given:
            return _clamped(given[name].value, name, whole)
    return None


def _clamped(value: JsonValue, name: str, whole: int) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise invalid(name, f"a number from 0 to {whole}", value)
    return max(0, min(value, whole)) / whole  # bounded first: integers may be of any size


def _data(member: Member | None) -> RawJson | None:
    if member is None:
        return None
    if not isinstance(member.value, dict):
        raise invalid("data", "an object", member.value)
    size, most = len(member.raw.encode()), MAX_DATA_BYTES
    if size > most:
        message = f"The 'data' of a progress report has {size} bytes; at most {most} are kept."
        hint = "Report numbers; keep what a later attempt needs in a checkpoint."
        raise too_large("data", size, most, message, hint)
    return member.raw


def _message(given: Mapping[str, Member]) -> str | None:
    if "message" not in given:
        return None
    value = given["message"].value
    if not isinstance(value, str):
        raise invalid("message", "a text", value)
    # Half of a surrogate pair, which JSON can say and UTF-8 cannot, becomes a question mark.
    return value[:MAX_MESSAGE].encode(errors="replace").decode()


def with_report(
    before: Progress | None, report: ProgressReport, attempt: int, now: Instant
) -> Progress:
    """Return the progress after a report; it never falls within an attempt (PRG-003)."""
    earlier = before if before is not None and before.attempt == attempt else None
    if earlier is None:
        earlier = Progress(attempt=attempt, updated_at=now)
    known = [each for each in (earlier.fraction, report.fraction) if each is not None]
    return Progress(
        attempt=attempt,
        updated_at=now,
        fraction=max(known, default=None),
        data=earlier.data if report.data is None else report.data,
        message=earlier.message if report.message is None else report.message,
    )
