"""Reads the forms in which clients write a unique policy; what is stored stays as it was sent.

Some say ``key`` where the specification has ``keys``: as a list it holds dimensions, or fields of
the arguments; as a string it is a name that the caller chose for what must be unique. Some say
``within`` for ``period``, some give seconds as a number, and some milliseconds as ``period_ms``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeGuard

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import MAX_DURATION_MS, format_duration

UNIQUE_MEMBERS: Final = frozenset(
    {"keys", "args_keys", "meta_keys", "period", "states", "on_conflict"}
)
"""Every member that a unique policy may have."""


def as_specified(
    given: Mapping[str, JsonValue], dimensions: Collection[str]
) -> tuple[dict[str, JsonValue], str]:
    """Return a unique policy with the members of the specification, and the caller's own name.

    What is not understood stays as it is, so that it is refused by its name.

    :param dimensions: what ``keys`` may name.
    """
    policy: dict[str, JsonValue] = {}
    policy.update((name, value) for name, value in given.items() if value is not None)
    _read_keys(policy, dimensions)
    _read_period(policy)
    if policy.get("on_conflict") == "use_existing":  # the OpenAPI document has it for this
        policy["on_conflict"] = "ignore"
    key = policy.get("key")
    if isinstance(key, str) and key:
        del policy["key"]
        return policy, key
    return policy, ""


def _read_keys(policy: dict[str, JsonValue], dimensions: Collection[str]) -> None:
    """Read ``key`` as a list: dimensions by their names, and fields of the arguments."""
    key = policy.get("key")
    if not isinstance(key, list | tuple) or "keys" in policy:
        return
    words = [word for word in key if isinstance(word, str)]
    if len(words) < len(key):
        return
    del policy["key"]
    keys: list[JsonValue] = [word for word in words if word in dimensions]
    fields: list[JsonValue] = [word for word in words if word not in dimensions]
    if fields:
        policy.setdefault("args_keys", fields)
        keys = [*keys, *({"args"} - {*words})]
    policy["keys"] = keys


def _read_period(policy: dict[str, JsonValue]) -> None:
    """Read ``within`` as ``period``; a number counts seconds, in ``period_ms`` milliseconds."""
    if "within" in policy and "period" not in policy:
        policy["period"] = policy.pop("within")
    milliseconds = policy.get("period_ms")
    if _is_duration(milliseconds, unit_ms=1):
        del policy["period_ms"]
        policy.setdefault("period", format_duration(milliseconds))
    elif "period_ms" in policy:
        return  # refused by its name
    period = policy.get("period")
    if _is_duration(period, unit_ms=1000):
        policy["period"] = format_duration(period * 1000)


def _is_duration(value: JsonValue, *, unit_ms: int) -> TypeGuard[int]:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return 0 <= value * unit_ms <= MAX_DURATION_MS
