"""Reads and writes the structured error object (core, section 8; binding, section 10.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.job import Failure, JobRecord
from ojs_aws.domain.json_text import (
    ANY_DEPTH,
    Member,
    RawJson,
    assemble,
    decode,
    encode,
    json_type,
    parse_object,
)
from ojs_aws.domain.timestamps import Instant, format_instant

HISTORY_LIMIT: Final = 20
"""Failures kept per job; the specification asks for at least 10."""

MAX_FRAMES: Final = 50
MAX_BACKTRACE_CHARACTERS: Final = 10_000
MAX_NAME_CHARACTERS: Final = 256
MAX_MESSAGE_CHARACTERS: Final = 10_000
MAX_EXTRA_BYTES: Final = 32_768
LONGEST_CHARACTER: Final = 12
"""Bytes of JSON that one character of a text takes at most: two escaped surrogates."""

CUT: Final = "…"
"""Stands at the end of a text that was cut."""

DEFAULT_TYPE: Final = "handler_error"

_OWN: Final = frozenset(
    {"type", "code", "message", "retryable", "backtrace", "attempt", "occurred_at", "timestamp"}
)


def read_failure(error: Mapping[str, Member], attempt: int, now: Instant) -> Failure:
    """Read a client's error object, in the form of the core or of the binding.

    The type is ``type``, else ``details.error_class``, else ``code``. Texts that are too long are
    cut; the backtrace keeps at most 50 frames and 10,000 characters. Further attributes (details
    among them) are kept as sent; when they exceed 32 KiB together, the ends of their texts are cut
    or whole members left out, and ``truncated`` is true.

    :raises InvalidRequestError: ``message`` is missing, or an attribute has the wrong type.
    """
    code = _name(error, "code")
    error_class = _error_class(error)
    message = _value(error, "message")
    if not isinstance(message, str):
        raise _malformed("message", "a string", message, missing="message" not in error)
    retryable = _value(error, "retryable")
    if retryable is not None and not isinstance(retryable, bool):
        raise _malformed("retryable", "a boolean", retryable)
    extra = {name: member.raw for name, member in error.items() if name not in _OWN}
    if _size(assemble(extra)) > MAX_EXTRA_BYTES:
        extra = _truncate(extra)
    return Failure(
        type=_name(error, "type") or error_class or code or DEFAULT_TYPE,
        code=code,
        message=message[:MAX_MESSAGE_CHARACTERS],
        retryable=retryable,
        backtrace=_backtrace(error),
        extra=extra,
        error_class=error_class,
        attempt=attempt,
        occurred_at=now,
    )


def render_failure(failure: Failure) -> RawJson:
    """Return the error object as answered, with the names of the core and of the binding."""
    members: dict[str, RawJson] = {
        "type": encode(failure.type),
        "message": encode(failure.message),
        "code": encode(failure.code or DEFAULT_TYPE),
    }
    if failure.retryable is not None:
        members["retryable"] = encode(failure.retryable)
    if failure.backtrace:
        members["backtrace"] = encode(list(failure.backtrace))
    occurred = encode(format_instant(failure.occurred_at))
    members |= failure.extra
    members |= {
        "attempt": encode(failure.attempt),
        "occurred_at": occurred,
        "timestamp": occurred,
    }
    return assemble(members)


def _truncate(extra: Mapping[str, RawJson]) -> dict[str, RawJson]:
    """Keep as many further attributes of a failure as fit, and mark the failure as cut."""
    kept: dict[str, RawJson] = {"truncated": RawJson("true")}
    room = MAX_EXTRA_BYTES - _size(assemble(kept))
    for name, raw in sorted(extra.items(), key=lambda pair: pair[0] != "details"):
        room -= _size(encode(name)) + len(", : ")
        short = raw if _size(raw) <= room else _shortened(raw, room)
        if short is None or name in kept:
            room += _size(encode(name)) + len(", : ")
            continue
        kept[name] = short
        room -= _size(short)
    return kept


def _shortened(raw: RawJson, room: int) -> RawJson | None:
    """Return the start of a text, or the members of an object that fit; None for others."""
    value = decode(raw, max_depth=ANY_DEPTH)
    if not isinstance(value, dict):
        return _cut(Member(raw, value), room)
    kept = _truncated_object(parse_object(raw, max_depth=ANY_DEPTH), room)
    return assemble(kept) if kept else None


def _truncated_object(members: Mapping[str, Member], room: int) -> dict[str, RawJson]:
    kept: dict[str, RawJson] = {}
    room -= len("{}")
    for name, member in members.items():
        own = _size(encode(name)) + len(", : ")
        short = member.raw if _size(member.raw) + own <= room else _cut(member, room - own)
        if short is not None:
            kept[name] = short
            room -= own + _size(short)
    return kept


def _cut(member: Member, room: int) -> RawJson | None:
    """Return the start of a text that is too long; None for anything else."""
    if not isinstance(member.value, str):
        return None
    text = member.value[: max(0, room // LONGEST_CHARACTER - 1)]
    return encode(text + CUT) if text else None


def _size(raw: str) -> int:
    return len(raw.encode("utf-8", "surrogatepass"))


def _value(error: Mapping[str, Member], name: str) -> JsonValue:
    member = error.get(name)
    return None if member is None else member.value


def _name(error: Mapping[str, Member], name: str) -> str:
    value = _value(error, name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _malformed(name, "a string", value)
    return value[:MAX_NAME_CHARACTERS]


def _error_class(error: Mapping[str, Member]) -> str:
    details = _value(error, "details")
    if details is not None and not isinstance(details, dict):
        raise _malformed("details", "an object", details)
    name = (details or {}).get("error_class")
    return name[:MAX_NAME_CHARACTERS] if isinstance(name, str) else ""


def _backtrace(error: Mapping[str, Member]) -> tuple[str, ...]:
    frames = _value(error, "backtrace")
    if frames is None:
        return ()
    if not isinstance(frames, list) or not all(isinstance(frame, str) for frame in frames):
        raise _malformed("backtrace", "an array of strings", frames)
    return bound_backtrace([str(frame) for frame in frames])


def bound_backtrace(frames: list[str], *, but: str = "") -> tuple[str, ...]:
    """Return the first frames that fit into 50 frames and 10,000 characters.

    :param but: a further line that has to fit, too.
    """
    kept: list[str] = []
    room = MAX_BACKTRACE_CHARACTERS - len(but)
    for frame in frames[: MAX_FRAMES - bool(but)]:
        if room <= 0:
            break
        kept.append(frame[:room])
        room -= len(frame)
    return tuple(kept)


def _malformed(
    field: str, expected: str, value: JsonValue, *, missing: bool = False
) -> InvalidRequestError:
    received = "nothing" if missing else json_type(value)
    message = f"The 'error.{field}' attribute must be {expected}; received {received}."
    hint = 'Send {"error": {"type": "...", "message": "..."}}.'
    return field_error(f"error.{field}", message, hint, expected=expected, received=received)


def recorded(job: JobRecord, failure: Failure) -> tuple[Failure, ...]:
    """Return the history with one more failure; only the latest keeps its backtrace."""
    earlier = tuple(past.without_backtrace() for past in job.failures)
    return (*earlier, failure)[-HISTORY_LIMIT:]


def ending_failure(job: JobRecord) -> Failure | None:
    """Return the failure that ended a discarded job; None if it expired or was dropped later."""
    if not job.failures:
        return None
    last, ended = job.failures[-1], job.discarded_at or job.created_at
    is_other = job.limit is not None or has_expired(job)
    return None if is_other and last.occurred_at < ended else last


def has_expired(job: JobRecord) -> bool:
    """Return True if the time of a discarded job was over when it ended."""
    ended = job.discarded_at or job.created_at
    return job.expires_at is not None and ended >= job.expires_at
