"""Checks what a caller passes to :class:`~ojs_aws.Job` and says what was probably meant.

A wrong value is refused where it is written down, before a middleware or the backend sees it. What
a value means (whether a policy can be followed, say) is the backend's to decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from functools import partial
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import json_type
from ojs_aws.domain.timestamps import format_instant, instant_of
from ojs_aws.domain.unique import UNIQUE_MEMBERS

_OTHER_NAMES: Final[Mapping[str, str]] = {
    "at": "scheduled_at",
    "attempts": 'retry={"max_attempts": ...}',
    "countdown": 'delay="10s"',
    "delay_until": "scheduled_at",
    "eta": "scheduled_at",
    "expires": "expires_at",
    "expires_in": "expires_at",
    "job_id": "id",
    "kwargs": "args",
    "max_attempts": 'retry={"max_attempts": ...}',
    "max_retries": 'retry={"max_attempts": ...}',
    "metadata": "meta",
    "payload": "args",
    "queue_name": "queue",
    "retries": 'retry={"max_attempts": ...}',
    "run_at": "scheduled_at",
    "timeout_ms": "timeout_s",
    "unique_key": 'custom_attributes={"unique_key": ...}',
    "visibility_timeout_ms": "visibility_timeout_s",
}
"""What other libraries, and the wire, call what a parameter of ours means."""

_RETRY_NAMES: Final[Mapping[str, str]] = {
    "attempts": "max_attempts",
    "coefficient": "backoff_coefficient",
    "delay": "initial_interval",
    "max_delay": "max_interval",
    "max_retries": "max_attempts",
    "retries": "max_attempts",
}
_UNIQUE_DIALECT: Final = frozenset({"key", "period_ms", "within"})
"""Members of a unique policy that some clients send, and the server understands."""


def unknown_attribute(name: str, known: Iterable[str]) -> TypeError:
    """Return the error for an attribute that a job does not have."""
    return TypeError(
        f"A job has no attribute {name!r}{meant(name, known, _OTHER_NAMES)} Attributes of your "
        "own go into custom_attributes={...}."
    )


class Priority(IntEnum):
    """Names three priorities; any integer from -100 to 100 is one."""

    HIGH = 10
    NORMAL = 0
    LOW = -10


def mapping(name: str, example: str, value: object, policy: str = "") -> dict[str, JsonValue]:
    """Return a copy of an attribute that is an object.

    :param policy: what to write instead; empty for nothing but the example.
    :raises TypeError: it is no mapping.
    """
    if isinstance(value, Mapping):
        return dict(value)
    advice = f": write {name}={policy}." if policy else "."
    raise TypeError(
        f"The {name} of a job must be an object such as {example}, not {_kind(value)}{advice}"
    )


metadata: Final = partial(mapping, "meta", '{"trace_id": "abc"}')
"""Returns a copy of the metadata of a job, as an object."""


def argument_list(args: object) -> list[JsonValue]:
    """Return a copy of the arguments of a job, as a list.

    :raises TypeError: they are no list or tuple: text and objects would fall apart into their
        characters and names.
    """
    if isinstance(args, Sequence) and not isinstance(args, (str, bytes, bytearray, memoryview)):
        return list(args)
    one = "." if isinstance(args, (bytes, bytearray, memoryview)) else _example(args)
    raise TypeError(
        f"The args of a job must be a list of positional arguments, not {_kind(args)}{one}"
    )


def retry_policy(retry: object) -> dict[str, JsonValue]:
    """Return a copy of a retry policy, as an object.

    :raises TypeError: it is no mapping.
    :raises ValueError: it has a member that no retry policy has, or says which errors are retried:
        only the declaration of a job can, since its worker compares them.
    """
    if getattr(retry, "retry_on", None) is not None:
        raise ValueError("retry_on works where a job is declared: @jobs.job(..., retry=...).")
    from ojs_aws.domain.retry import POLICY_MEMBERS  # many jobs have none

    attempts = retry if isinstance(retry, int) and not isinstance(retry, bool) else 5
    example, advice = f'{{"max_attempts": {attempts}}}', f"RetryPolicy(max_attempts={attempts})"
    policy = mapping("retry", example, retry, advice)
    _check_names("retry", policy, POLICY_MEMBERS, _RETRY_NAMES)
    return policy


def unique_policy(unique: object) -> dict[str, JsonValue]:
    """Return a copy of a unique policy, as an object.

    :raises TypeError: it is no mapping.
    :raises ValueError: it has a member that no unique policy has.
    """
    policy = mapping("unique", '{"keys": ["type", "args"]}', unique, "UniquePolicy()")
    _check_names("unique", policy, UNIQUE_MEMBERS | _UNIQUE_DIALECT, {})
    return policy


def tag_list(tags: object) -> list[str]:
    """Return a copy of the tags of a job, as a list.

    :raises TypeError: they are no list or tuple.
    """
    if isinstance(tags, Sequence) and not isinstance(tags, (str, bytes, bytearray, memoryview)):
        return list(tags)
    one = f": did you mean [{tags!r}]?" if isinstance(tags, str) else ""
    raise TypeError(f"The tags of a job must be a list of strings, not {_kind(tags)}{one}")


def priority(value: int | str | None) -> int | None:
    """Return the number of a priority, which may be given by its name.

    :raises InvalidRequestError: it is no integer and no name.
    """
    if isinstance(value, str) and value.upper() in Priority.__members__:
        return int(Priority[value.upper()])
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return None if value is None else int(value)
    message = f"The 'priority' attribute must be an integer, or high, normal or low; not {value!r}."
    raise field_error("priority", message, received=json_type(value))


def timestamp(moment: datetime | str) -> str:
    """Return an instant as text; text stays as it is."""
    return format_instant(instant_of(moment)) if isinstance(moment, datetime) else moment


def job_type(value: object) -> str:
    """Return the type of a job, checked.

    :raises TypeError: it is no string.
    """
    if isinstance(value, str):
        return value
    raise TypeError(f"The type of a job must be a string such as 'email.send', not {_kind(value)}.")


def visibility_timeout(seconds: object) -> dict[str, JsonValue]:
    """Return the attribute for a reservation length: whole seconds, else milliseconds.

    :raises TypeError: it is no number.
    """
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        raise TypeError(
            f"visibility_timeout_s must be a number of seconds, not {_kind(seconds)}; "
            'visibility_timeout="30s" takes a duration.'
        )
    if not math.isfinite(seconds):
        return {"visibility_timeout": seconds}  # which the check of the envelope refuses
    whole = int(seconds)
    if whole == seconds:
        return {"visibility_timeout": whole}
    return {"visibility_timeout_ms": round(seconds * 1000)}


def custom_attributes(given: object, parameters: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return attributes that the specification does not name.

    :param parameters: of the job, by the names of the envelope's attributes that they set.
    :raises TypeError: they are no mapping.
    :raises ValueError: one of them has a parameter of its own.
    """
    attributes = mapping("custom_attributes", '{"x_tenant": "acme"}', given)
    for name in attributes:
        if name in parameters:
            raise ValueError(f"custom_attributes has {name!r}: use {parameters[name]}= for it.")
    return attributes


def _check_names(
    attribute: str,
    policy: Mapping[str, JsonValue],
    known: frozenset[str],
    others: Mapping[str, str],
) -> None:
    for name in policy:
        if name not in known:
            raise ValueError(
                f"The {attribute} policy of a job has no member {name!r}"
                f"{meant(name, known, others)} It may have {', '.join(sorted(known))}."
            )


def meant(name: str, known: Iterable[str], others: Mapping[str, str]) -> str:
    """Return the end of a sentence about a name that there is not: which one was probably meant.

    :param others: what other libraries call what a known name means.
    """
    from difflib import get_close_matches  # only for a mistake

    if name in others:
        return f": did you mean `{others[name]}`?"
    close = get_close_matches(name, sorted({*known, *others}), n=1)
    return f": did you mean `{others.get(close[0], close[0])}`?" if close else "."


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _example(value: object) -> str:
    """Return an example of an argument; long or possibly secret values are left out."""
    shown = "[...]"
    if isinstance(value, (str, dict)):
        shown = '["..."]' if isinstance(value, str) else "[{...}]"
    return f": did you mean one argument, {shown}?"
