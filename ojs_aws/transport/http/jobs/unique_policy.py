"""Translates the forms in which clients write a unique policy to the specification's.

Some say ``key`` where the specification has ``keys``: as a list it holds dimensions, or fields of
the arguments; as a string it is a name that the caller chose for what must be unique. Some say
``within`` for ``period``, some give seconds as a number, and some milliseconds as ``period_ms``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member, assemble, encode, parse_object
from ojs_aws.domain.timestamps import MAX_DURATION_MS, format_duration
from ojs_aws.domain.uniqueness import DIMENSIONS, UNIQUE_KEY, named_key


def read_unique(flat: Mapping[str, Member], max_depth: int) -> dict[str, Member]:
    """Return a ``unique`` attribute as specified; one as specified stays as it is.

    Anything that is not understood stays, too: PUSH refuses it by its name.
    """
    member = flat["unique"]
    if not isinstance(member.value, dict):
        return {}
    given = parse_object(member.raw, max_depth=max_depth)
    policy = {name: each for name, each in given.items() if each.value is not None}
    changed: dict[str, Member] = {}
    _keys(policy)
    _period(policy)
    _conflict(policy)
    key = policy.get("key")
    job_type = flat.get("type")
    if key and isinstance(key.value, str) and key.value and job_type and UNIQUE_KEY not in flat:
        del policy["key"]
        changed[UNIQUE_KEY] = _member(named_key(str(job_type.value), key.value))
    if policy != given:
        raw = assemble({name: each.raw for name, each in policy.items()})
        values = {name: each.value for name, each in policy.items()}
        changed["unique"] = Member(raw, values)
    return changed


def _keys(policy: dict[str, Member]) -> None:
    """Return ``key`` as a list: dimensions by their names, and fields of the arguments."""
    key = policy.get("key")
    if key is None or not isinstance(key.value, list) or "keys" in policy:
        return
    if not all(isinstance(word, str) for word in key.value):
        return
    del policy["key"]
    keys: list[JsonValue] = [word for word in key.value if word in DIMENSIONS]
    fields: list[JsonValue] = [word for word in key.value if word not in DIMENSIONS]
    if fields:
        policy.setdefault("args_keys", _member(fields))
        keys = [*keys, *({"args"} - {*keys})]
    policy["keys"] = _member(keys)


def _period(policy: dict[str, Member]) -> None:
    """Return ``within`` as ``period``; a number counts seconds, in ``period_ms`` milliseconds."""
    if "within" in policy and "period" not in policy:
        policy["period"] = policy.pop("within")
    if "period_ms" in policy:
        milliseconds = policy["period_ms"].value
        if not _is_duration(milliseconds, unit_ms=1):
            return  # refused by its name
        del policy["period_ms"]
        policy.setdefault("period", _member(format_duration(milliseconds)))
    period = policy.get("period")
    value = None if period is None else period.value
    if _is_duration(value, unit_ms=1000):
        policy["period"] = _member(format_duration(value * 1000))


def _conflict(policy: dict[str, Member]) -> None:
    """Translate ``use_existing``, which the binding's OpenAPI document has for ``ignore``."""
    on_conflict = policy.get("on_conflict")
    if on_conflict is not None and on_conflict.value == "use_existing":
        policy["on_conflict"] = _member("ignore")


def _is_duration(value: JsonValue, *, unit_ms: int) -> TypeGuard[int]:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return 0 <= value * unit_ms <= MAX_DURATION_MS


def _member(value: JsonValue) -> Member:
    return Member(encode(value), value)
