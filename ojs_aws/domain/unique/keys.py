"""Decides which jobs are the same: unique policies and fingerprints (unique jobs, 2-4).

The fingerprint is the SHA-256 of the canonical JSON of the chosen dimensions, in lowercase
hexadecimal. It is made from arguments, which may be secret: log it at DEBUG at most.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import json_type
from ojs_aws.domain.timestamps import Instant, parse_duration
from ojs_aws.domain.unique import UNIQUE_MEMBERS, as_specified
from ojs_aws.domain.unique.canonical import canonical_json

UNIQUE_KEY: Final = "unique_key"
"""The envelope's member for a key that the client made itself, because the backend cannot: it
encrypts the arguments, or has a name for what must be unique (appendix A.1)."""

DIMENSIONS: Final = ("type", "queue", "args", "meta")
DEFAULT_STATES: Final = frozenset(
    {
        JobState.AVAILABLE,
        JobState.ACTIVE,
        JobState.SCHEDULED,
        JobState.RETRYABLE,
        JobState.PENDING,
    }
)
_KEY: Final = re.compile("[0-9a-f]{64}", re.ASCII)
_STATES: Final = tuple(state.value for state in JobState)


class OnConflict(Enum):
    """Says what happens to a job that has a duplicate (section 5)."""

    REJECT = "reject"
    REPLACE = "replace"
    REPLACE_EXCEPT_SCHEDULE = "replace_except_schedule"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class UniquePolicy:
    """Holds a valid unique policy.

    :ivar keys: the dimensions of the fingerprint; ``type`` is always one.
    :ivar args_keys: the arguments that count; None for all of them.
    :ivar meta_keys: the metadata that counts, if ``meta`` is a dimension.
    :ivar period_ms: how long a job keeps others out, from its creation; None for no limit.
    :ivar states: a job in another state keeps nobody out.
    :ivar name: what the caller calls the thing that must be unique, in place of a fingerprint;
        empty for none.
    """

    keys: frozenset[str] = frozenset({"type"})
    args_keys: tuple[str, ...] | None = None
    meta_keys: tuple[str, ...] = ()
    period_ms: int | None = None
    states: frozenset[JobState] = DEFAULT_STATES
    on_conflict: OnConflict = OnConflict.REJECT
    name: str = ""

    @classmethod
    def by(
        cls,
        *keys: str,
        args_keys: Sequence[str] | None = None,
        meta_keys: Sequence[str] = (),
    ) -> UniquePolicy:
        """Return a policy over these dimensions, with defaults for the rest.

        :raises InvalidRequestError: as :func:`parse_unique_policy`.
        """
        given: dict[str, JsonValue] = {"keys": [*keys], "meta_keys": [*meta_keys]}
        if args_keys is not None:
            given["args_keys"] = [*args_keys]
        return parse_unique_policy(given)


def parse_unique_policy(given: JsonValue) -> UniquePolicy:
    """Read and check a unique policy (section 2), in any form that clients write.

    An empty ``args_keys`` counts as left out: it would make all jobs of a type the same one.

    :raises InvalidRequestError: naming the member, what was expected and what came.
    """
    if not isinstance(given, Mapping):
        raise _invalid("", "an object", given)
    policy, name = as_specified(given, DIMENSIONS)
    if unknown := sorted(set(policy) - UNIQUE_MEMBERS):
        expected = f"absent; there are only {_listed(sorted(UNIQUE_MEMBERS))}"
        raise _invalid(unknown[0], expected, policy[unknown[0]])
    keys = _words(policy, "keys", among=DIMENSIONS)
    meta_keys = _words(policy, "meta_keys") or ()
    if keys and "meta" in keys and not meta_keys:
        expected = "the keys of meta that count, because 'keys' has 'meta'"
        raise _invalid("meta_keys", expected, policy.get("meta_keys"))
    period = policy.get("period")
    states = _words(policy, "states", among=_STATES)
    conflict = policy.get("on_conflict")
    return UniquePolicy(
        keys=frozenset({"type", *(keys or ())}),
        args_keys=_words(policy, "args_keys") or None,
        meta_keys=meta_keys,
        period_ms=None if period is None else parse_duration(period, "unique.period"),
        states=DEFAULT_STATES if states is None else frozenset(map(JobState, states)),
        on_conflict=OnConflict.REJECT if conflict is None else _conflict(conflict),
        name=name,
    )


def _conflict(value: JsonValue) -> OnConflict:
    known = [strategy.value for strategy in OnConflict]
    if value not in known:
        raise _invalid("on_conflict", f"one of {_listed(known)}", value)
    return OnConflict(value)


def _words(
    policy: Mapping[str, JsonValue], name: str, among: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Return a list of distinct strings; None if it was left out."""
    given = policy.get(name)
    if given is None:
        return None
    expected = f"different strings, each one of {_listed(among)}" if among else "different strings"
    if not isinstance(given, (list, tuple)):
        raise _invalid(name, f"an array of {expected}", given)
    words = tuple(word for word in given if isinstance(word, str))
    if len(set(words)) != len(given):
        raise _invalid(name, f"an array of {expected}", given)
    for word in words:
        if among and word not in among:
            raise _invalid(name, f"an array of {expected}", word)
    return words


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


def _invalid(member: str, expected: str, value: JsonValue) -> InvalidRequestError:
    field = f"unique.{member}" if member else "unique"
    shown = f" {value[:80]!r}" if isinstance(value, str) and value else ""
    received = json_type(value)
    message = f"The '{field}' attribute must be {expected}; received {received}{shown}."
    return field_error(field, message, expected=expected, received=received)


# ---------------------------------------------------------------------------------- the fingerprint
def unique_key(job: Job, policy: UniquePolicy) -> str:
    """Return the uniqueness key of a job: the client's own, else the one that the policy makes.

    :raises InvalidRequestError: the client's is no key, or as :func:`fingerprint`.
    """
    if UNIQUE_KEY not in job:
        return key_by(policy, job)
    given = job.get(UNIQUE_KEY)
    if isinstance(given, str) and is_key(given):
        return given
    received = json_type(given)
    raise InvalidRequestError(
        f"The '{UNIQUE_KEY}' attribute must be 64 lowercase hexadecimal digits; "
        f"received {received}.",
        details={"field": UNIQUE_KEY, "expected": "a SHA-256 in hexadecimal", "received": received},
    )


def key_by(policy: UniquePolicy, job: Job) -> str:
    """Return the uniqueness key that a policy makes: of its name, else the fingerprint."""
    return named_key(job.type, policy.name) if policy.name else fingerprint(job, policy)


def chosen_key(job: Job) -> JsonValue:
    """Return what the client chose as the key: the key itself, or the one of its name.

    None for none. It is not checked, and neither is the policy.
    """
    if UNIQUE_KEY in job:
        return job.get(UNIQUE_KEY)
    _, name = _lenient(job.get("unique"))
    return named_key(job.type, name) if name else None


def counts_queue(policy: JsonValue) -> bool:
    """Return whether a policy, which is not checked, makes jobs unique within their queue only."""
    keys = _lenient(policy)[0].get("keys")
    return isinstance(keys, (list, tuple)) and "queue" in keys


def _lenient(policy: JsonValue) -> tuple[dict[str, JsonValue], str]:
    return as_specified(policy, DIMENSIONS) if isinstance(policy, Mapping) else ({}, "")


def named_key(job_type: str, name: str) -> str:
    """Return the uniqueness key of jobs of one type under a name that the client chose."""
    text = canonical_json({"key": name, "type": job_type})
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def bound_key(job: Job, given: str) -> str:
    """Return a client's own key as it applies within one type and queue only.

    Jobs of credentials with bounds have such keys. A key that the client chose could else be that
    of any other job. As in a fingerprint, the queue counts where the unique policy names it.
    """
    chosen: dict[str, JsonValue] = {"bound_key": given, "type": job.type}
    if counts_queue(job.get("unique")):
        chosen["queue"] = job.queue
    return hashlib.sha256(canonical_json(chosen).encode("utf-8", "surrogatepass")).hexdigest()


def is_key(value: JsonValue) -> bool:
    """Return whether a value can be a uniqueness key."""
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def keeps_out(policy: UniquePolicy, existing: JobRecord, now: Instant) -> bool:
    """Return whether a job with the same key counts as a duplicate for a policy (section 7.4).

    :param existing: as of now, with everything applied that time has decided.
    """
    if existing.state not in policy.states:
        return False
    return policy.period_ms is None or existing.created_at + policy.period_ms > now


def fingerprint(job: Job, policy: UniquePolicy) -> str:
    """Return the uniqueness key of a job under a policy (section 4): 64 hexadecimal digits."""
    text = canonical_json(dimensions(job, policy))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def has_dimensions(job: Job, policy: UniquePolicy) -> bool:
    """Return True if the job has all that a policy's ``args_keys`` and ``meta_keys`` name."""
    chosen = dimensions(job, policy)
    named = {"args": policy.args_keys, "meta": policy.meta_keys}
    for dimension, keys in named.items():
        values = chosen.get(dimension)
        if keys and isinstance(values, dict) and not values.keys() >= set(keys):
            return False
    return True


def dimensions(job: Job, policy: UniquePolicy) -> dict[str, JsonValue]:
    """Return the values from which the fingerprint is made (section 4.1, step 1).

    What ``args_keys`` or ``meta_keys`` name and the job lacks counts as absent.
    """
    chosen: dict[str, JsonValue] = {"type": job.type}
    if "queue" in policy.keys:
        chosen["queue"] = job.queue
    if "args" in policy.keys:
        args = job.get("args", [])
        chosen["args"] = args if policy.args_keys is None else _arguments(args, policy.args_keys)
    if "meta" in policy.keys:
        meta = job.get("meta")
        known = meta if isinstance(meta, dict) else {}
        chosen["meta"] = {key: known[key] for key in policy.meta_keys if key in known}
    return chosen


def _arguments(args: JsonValue, keys: Sequence[str]) -> dict[str, JsonValue]:
    """Return the arguments that the keys name, by key.

    The specification's examples have an object for ``args``, the core an array. In an array the
    key is a member of the first object that has it, else a position: ``"0"`` is the first argument.
    """
    items: Sequence[JsonValue] = args if isinstance(args, (list, tuple)) else [args]
    named: dict[str, JsonValue] = {}
    for key in keys:
        holder = next((item for item in items if isinstance(item, dict) and key in item), None)
        if holder is not None:
            named[key] = holder[key]
        elif items is args and key.isascii() and key.isdecimal() and key == str(int(key[:9])):
            position = int(key)
            if position < len(items):
                named[key] = items[position]
    return named
