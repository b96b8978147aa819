"""Check the attributes that many requests have, and build the errors that refuse them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeGuard

from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
)
from ojs_aws.domain.json_text import json_type


def not_found(
    kind: str, name: str, message: str, hint: str = "", **more: JsonValue
) -> NotFoundError:
    """Return the error about a resource that does not exist."""
    details = {"resource_type": kind, "resource_id": name, **more}
    return NotFoundError(message, details=details, hint=hint)


def unknown_cron(name: str) -> NotFoundError:
    """Return the error about a cron job that does not exist."""
    return not_found("cron", name[:255], f"Cron job '{name[:80]}' not found.")


def unknown_workflow(workflow_id: str) -> NotFoundError:
    """Return the error about a workflow that does not exist."""
    return not_found("workflow", workflow_id, f"Workflow '{workflow_id}' not found.")


def wrong_state(
    kind: str, name: str, state: str, message: str, hint: str = "", **more: JsonValue
) -> ConflictError:
    """Return the error about a job, a worker or a workflow whose state is in the way."""
    details = {f"{kind}_id": name, "current_state": state, **more}
    return ConflictError(message, details=details, hint=hint)


def too_large(
    field: str, size: int, most: int, message: str, hint: str = ""
) -> PayloadTooLargeError:
    """Return the error about an attribute of more bytes than are accepted."""
    details: dict[str, JsonValue] = {"field": field, "size_bytes": size, "max_bytes": most}
    return PayloadTooLargeError(message, details=details, hint=hint)


def field_error(field: str, message: str, hint: str = "", **more: JsonValue) -> InvalidRequestError:
    """Return the error about an attribute, a parameter or a member that is not accepted."""
    return InvalidRequestError(message, details={"field": field, **more}, hint=hint)


@contextmanager
def at_index(index: int) -> Iterator[None]:
    """Say in an error which job of the batch it is about."""
    try:
        yield
    except OjsError as problem:
        if "index" not in problem.details:
            problem.message = f"Job at index {index}: {problem.message}"
            problem.details["index"] = index
        raise


ID_PATTERN: Final = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
TYPE_PATTERN: Final = r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*"
QUEUE_PATTERN: Final = r"[a-z0-9][a-z0-9.-]*"
MAX_TYPE_LENGTH: Final = 255
MAX_QUEUE_LENGTH: Final = 128
PRIORITY_LIMIT: Final = 100

_ID: Final = re.compile(ID_PATTERN, re.ASCII)
_TYPE: Final = re.compile(TYPE_PATTERN, re.ASCII)
_QUEUE: Final = re.compile(QUEUE_PATTERN, re.ASCII)
URI_PATTERN: Final = (
    r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+"
)
MAX_PORT: Final = 65_535
_URI: Final = re.compile(URI_PATTERN, re.ASCII)
_AUTHORITY: Final = re.compile(
    r"(?:[^@\[\]]*@)?(?P<host>\[[^\[\]]*\]|[^@:\[\]]*)(?::(?P<port>[0-9]{0,6}))?", re.ASCII
)
_FUTURE_ADDRESS: Final = re.compile(r"v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+", re.ASCII)


def check_type(value: JsonValue) -> str:
    """Return a job type: segments of lowercase letters, digits, ``_`` and ``-``, with dots between.

    The hyphen is more than the core specification allows; existing producers send it.
    """
    if isinstance(value, str) and len(value) <= MAX_TYPE_LENGTH and _TYPE.fullmatch(value):
        return value
    expected = "lowercase segments joined by dots, such as email.send, at most 255 characters"
    raise invalid("type", expected, value)


def check_queue(value: JsonValue) -> str:
    """Return a queue name: at most 128 lowercase letters, digits, hyphens and dots."""
    if isinstance(value, str) and len(value) <= MAX_QUEUE_LENGTH and _QUEUE.fullmatch(value):
        return value
    expected = "lowercase letters, digits, hyphens and dots, at most 128 characters"
    raise invalid("queue", expected, value)


def check_job_id(value: JsonValue) -> str:
    """Return a job id, which is a UUIDv7 in lowercase hexadecimal with hyphens."""
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise invalid("id", "a lowercase UUIDv7 such as 019539a4-b68c-7def-8000-1a2b3c4d5e6f", value)


def check_priority(value: JsonValue) -> int:
    """Return a priority; 0 for None.

    :raises InvalidRequestError: it is no integer from -100 to 100.
    """
    if value is None:
        return 0
    if is_integer(value) and -PRIORITY_LIMIT <= value <= PRIORITY_LIMIT:
        return value
    raise invalid("priority", "an integer from -100 to 100", value)


def is_integer(value: object) -> TypeGuard[int]:
    """Return True for an integer, which a boolean is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def invalid(
    field: str, expected: str, value: JsonValue, *, missing: bool = False
) -> InvalidRequestError:
    """Return the error for an attribute that is missing or malformed."""
    received = "nothing" if missing else json_type(value)
    shown = f" {value[:80]!r}" if isinstance(value, str) else ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        shown = f" {str(value)[:40]}"
    message = f"The '{field}' attribute must be {expected}; received {received}{shown}."
    return field_error(field, message, expected=expected, received=received)


def is_uri(text: str) -> bool:
    """Return whether a text is a URI whose host and port can be read (RFC 3986, section 3.2)."""
    if not _URI.fullmatch(text):
        return False
    scheme, _, rest = text.partition(":")
    if not rest.startswith("//"):
        return True
    found = _AUTHORITY.fullmatch(re.split("[/?#]", rest[2:], maxsplit=1)[0])
    if found is None or int(found["port"] or 0) > MAX_PORT:
        return False
    return _is_host(found["host"], is_needed=scheme.lower() in {"http", "https"})


def _is_host(host: str, *, is_needed: bool) -> bool:
    """Return whether a host is a name, or an address in brackets."""
    if not host.startswith("["):
        return bool(host) or not is_needed
    from ipaddress import IPv6Address  # few URIs have one

    try:
        return bool(_FUTURE_ADDRESS.fullmatch(host[1:-1]) or IPv6Address(host[1:-1]))
    except ValueError:
        return False
