"""Reads limit policies as clients and operators write them (ojs-rate-limiting, 6, 7, 10)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.errors import InvalidPolicyError, InvalidRequestError, JsonValue
from ojs_aws.domain.job_policies import Limit, OnLimit, Window
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import KEY_FORM, MAX_KEY, Bucket, is_key, queue_key
from ojs_aws.domain.timestamps import Instant, format_instant, parse_duration, parse_timestamp

LARGEST: Final = 1_000_000
MAX_PERIOD_MS: Final = 31 * 86_400_000
MAX_PARTS: Final = 5
"""Values of a job that its key may be made of."""

_PLAIN: Final = re.compile(r"[a-zA-Z0-9._-]{1,64}", re.ASCII)
_INDEX: Final = re.compile(r"[0-9]{1,9}")
_UNITS: Final = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_BOUNDS: Final = ("concurrency", "rate", "throttle")
TENANT: Final = "tenant"
"""The member of a stored override that holds a tenant's settings."""
_CHOICES: Final = ", ".join(OnLimit)


def read_limit(
    value: JsonValue, queue: str, of: Mapping[str, JsonValue] | None = None
) -> Limit | None:
    """Read the ``rate_limit`` attribute of a job, in every form in use.

    Without a key the queue is meant.

    :param of: the job's ``args`` and ``meta``, of which ``by`` makes a part of the key.
    :raises InvalidRequestError: something in it is malformed.
    :raises InvalidPolicyError: it is well formed, but cannot be followed.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _malformed("rate_limit", "an object", value)
    limit = _limit(_read_key(value, queue, of or {}), value)
    if limit.limits_nothing:
        raise InvalidPolicyError(
            "The 'rate_limit' attribute limits nothing.",
            details={"field": "rate_limit", "expected": "concurrency, rate or throttle"},
        )
    return limit


@dataclass(frozen=True, slots=True)
class Override:
    """Holds an operator's policy for a key (section 10.2).

    What it names counts instead of what jobs bring; null lifts it. What it does not name is left.

    :ivar members: the policy's members as the specification writes them.
    :ivar until: when it ends by itself; None for never.
    """

    members: Mapping[str, JsonValue]
    until: Instant | None = None

    def over(self, base: Limit | None, key: str) -> Limit:
        """Return the policy that applies over a base policy."""
        members = {**(base.render() if base else {}), **self.members}
        return _limit(key, members)

    def render(self) -> dict[str, JsonValue]:
        """Return it as the specification writes it."""
        ends = {} if self.until is None else {"expires_at": format_instant(self.until)}
        return {**self.members, **ends}

    def text(self) -> str:
        """Return it as stored text."""
        return encode(self.render())


def read_override(value: JsonValue, now: Instant) -> Override:
    """Read an override as an operator writes it.

    :raises InvalidRequestError: something in it is malformed.
    :raises InvalidPolicyError: it names nothing, cannot be followed, or is over already; or it
        names a key, although the path names the one that it applies to.
    """
    if not isinstance(value, dict):
        raise _malformed("rate_limit", "an object", value)
    until = None
    if value.get("expires_at") is not None:
        until = parse_timestamp(value["expires_at"], "expires_at")
        if until <= now:
            raise _impossible("expires_at", "in the future", str(value["expires_at"]))
    for name in ("key", "by"):
        if value.get(name) is not None:
            raise _impossible(name, "left out: the path names the key, and jobs what it is by", "")
    limit = _limit("", value)
    written = limit.render()
    members: dict[str, JsonValue] = {
        name: written.get(name)
        for name in (*_BOUNDS, "on_limit")
        if name in value or (name in written and name != "on_limit")
    }
    if "on_limit" in members:
        members["on_limit"] = str(limit.on_limit)
    if not members:
        raise InvalidPolicyError(
            "The policy limits nothing.",
            details={"field": "rate_limit", "expected": "concurrency, rate, throttle or on_limit"},
        )
    return Override(members, until)


def override_of(bucket: Bucket, now: Instant) -> Override | None:
    """Return the key's override, unless it has ended."""
    if not bucket.override:
        return None
    stored = decode(bucket.override)
    if not isinstance(stored, dict):
        return None
    stored.pop("key", None)  # settings of queues are kept with it
    stored.pop(TENANT, None)  # and those of tenants, which may limit no start
    if not stored:
        return None
    ends = stored.pop("expires_at", None)
    until = None if ends is None else parse_timestamp(ends, "expires_at")
    return None if until is not None and until <= now else Override(stored, until)


def effective(own: Limit | None, bucket: Bucket, now: Instant, *, is_scope: bool) -> Limit | None:
    """Return the policy that applies to a job in a bucket; None if there is none.

    :param own: the job's own, if the bucket is the one that it names.
    :param is_scope: the bucket is that of a queue or a type: a job's own policy cannot get
        around an operator's policy, only be stricter (section 7.2).
    """
    override = override_of(bucket, now)
    if override is None:
        return own
    if not is_scope or own is None:
        return override.over(own, bucket.key)
    return _stricter(override.over(None, bucket.key), own)


def _stricter(laid_down: Limit, own: Limit) -> Limit:
    """Return the lower of both concurrencies; of two windows, the operator's applies."""
    bounds = [each.concurrency for each in (laid_down, own) if each.concurrency is not None]
    return Limit(
        key=laid_down.key,
        concurrency=min(bounds, default=None),
        rate=laid_down.rate or own.rate,
        throttle=laid_down.throttle or own.throttle,
        on_limit=own.on_limit,
    )


def check_key(key: JsonValue, field: str = "key") -> str:
    """Return a key after checking its form.

    :raises InvalidRequestError: it is none.
    """
    if isinstance(key, str) and is_key(key):
        return key
    raise _malformed(field, KEY_FORM, key)


def _read_key(value: Mapping[str, JsonValue], queue: str, of: Mapping[str, JsonValue]) -> str:
    """Return the key, extended by the job's values that ``by`` names."""
    own, by = value.get("key"), value.get("by")
    key = queue_key(queue) if own is None else check_key(own, "rate_limit.key")
    if by is None:
        return key
    paths = [by] if isinstance(by, str) else by
    if not isinstance(paths, list) or not 0 < len(paths) <= MAX_PARTS:
        raise _malformed("rate_limit.by", f"a path, or 1 to {MAX_PARTS} of them", by)
    whole = ":".join([key, *(_part(path, of) for path in paths)])
    if len(whole) > MAX_KEY:
        raise _impossible("rate_limit.by", f"short: the key may have {MAX_KEY} characters", whole)
    return whole


def _part(path: JsonValue, of: Mapping[str, JsonValue]) -> str:
    """Return one value of a job as a part of a key, hashed if a key cannot hold it."""
    expected = "a path into args or meta, such as meta.tenant or args.0.customer"
    if not isinstance(path, str):
        raise _malformed("rate_limit.by", expected, path)
    root, *names = path.split(".")
    if root not in {"args", "meta"} or not names:
        raise _malformed("rate_limit.by", expected, path)
    found: JsonValue = of.get(root)
    for name in names:
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and _INDEX.fullmatch(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            found = None
    if found is None:
        raise _without_value(path, f"This job has no {path}, which 'rate_limit.by' names.")
    if isinstance(found, bool) or not isinstance(found, str | int):
        kinds = "must be a text or a whole number"
        raise _without_value(path, f"The {path} of a job, which 'rate_limit.by' names, {kinds}.")
    text = str(found)
    if _PLAIN.fullmatch(text):
        return text
    return "sha256-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _without_value(path: str, message: str) -> InvalidPolicyError:
    """Return the error for a job that has nothing at a path that a key can hold."""
    return InvalidPolicyError(
        message,
        details={
            "field": "rate_limit.by",
            "expected": f"a text or a whole number in {path}",
            "received": path,
        },
        hint=f"Give the job its {path}, or leave the path out of 'rate_limit.by'.",
    )


def _limit(key: str, value: Mapping[str, JsonValue]) -> Limit:
    """Return the limit that a policy's members set."""
    on_limit, concurrency = _on_limit(value.get("on_limit")), value.get("concurrency")
    return Limit(
        key=key,
        on_limit=on_limit,
        concurrency=None if concurrency is None else _count("concurrency", concurrency),
        rate=_rate(value),
        throttle=_window("throttle", value.get("throttle")),
    )


def _rate(value: Mapping[str, JsonValue]) -> Window | None:
    """Read ``rate`` as an object or a number with ``period``, or ``limit``, ``max_per_<unit>``."""
    for unit, period_ms in _UNITS.items():
        if (most := value.get(f"max_per_{unit}")) is not None:
            return Window(_count(f"max_per_{unit}", most), period_ms)
    rate, period = value.get("rate"), value.get("period")
    if rate is None and value.get("limit") is not None:
        rate = value.get("limit")
    if isinstance(rate, dict) or rate is None:
        return _window("rate", rate)
    return Window(_count("rate", rate), _period("period", period))


def _window(name: str, value: JsonValue) -> Window | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _malformed(f"rate_limit.{name}", "an object with limit and period", value)
    limit, period = value.get("limit"), value.get("period")
    return Window(_count(f"{name}.limit", limit), _period(f"{name}.period", period))


def _count(name: str, value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _malformed(f"rate_limit.{name}", "a whole number", value)
    if not 0 <= value <= LARGEST:
        raise _impossible(f"rate_limit.{name}", f"from 0 to {LARGEST}", value)
    return value


def _period(name: str, value: JsonValue) -> int:
    if isinstance(value, str) and value in _UNITS:
        return _UNITS[value]
    period_ms = parse_duration(value, f"rate_limit.{name}")
    if not 0 < period_ms <= MAX_PERIOD_MS:
        raise _impossible(f"rate_limit.{name}", "more than zero, at most 31 days", str(value))
    return period_ms


def _on_limit(value: JsonValue) -> OnLimit:
    if value is None:
        return OnLimit.WAIT
    if not isinstance(value, str):
        raise _malformed("rate_limit.on_limit", f"one of {_CHOICES}", value)
    if value not in set(OnLimit):
        raise _impossible("rate_limit.on_limit", f"one of {_CHOICES}", value)
    return OnLimit(value)


def _malformed(field: str, expected: str, value: JsonValue) -> InvalidRequestError:
    message = f"The '{field}' attribute must be {expected}."
    return field_error(field, message, expected=expected, received=str(value)[:80])


def _impossible(field: str, expected: str, value: JsonValue) -> InvalidPolicyError:
    return InvalidPolicyError(
        f"The '{field}' attribute must be {expected}.",
        details={"field": field, "expected": expected, "received": str(value)[:80]},
    )
