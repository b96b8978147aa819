"""Declare what a typed job may say beside its arguments, and find those that a policy counts."""

from __future__ import annotations

import collections.abc
import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, cast
from uuid import UUID

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.jobs.attributes import INSTEAD_OF, PARAMETERS, JobAttributes, replaced
from ojs_aws.domain.jobs.validation import read_envelope
from ojs_aws.domain.limits.policies import read_limit
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.unique import UNIQUE_MEMBERS
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.typed_jobs.signature import JobSignature
from ojs_aws.typed_jobs.values import UNIONS, written_out


class JobOptions(JobAttributes, total=False):
    """Lists the attributes of a job, which its declaration and each call may set."""


def merged(options: Mapping[str, Any], others: Mapping[str, Any]) -> JobOptions:
    """Return options with others in their place, where both say something.

    A delay takes the place of ``scheduled_at``, ``timeout`` that of ``timeout_s``, and the other
    way round.
    """
    return cast("JobOptions", replaced(options, others))


def check_values(job: Job, named: Collection[str] = ()) -> None:
    """Check the values of options as a server would, which sees only the first job of them.

    Members of other names, which a server also takes, are left to it.

    :param job: without arguments.
    :param named: the names of the options as they were written, ``timeout`` or ``timeout_s``.
    :raises OjsError: a value that a job cannot have; the message has the name of the option.
    """
    checked = job.copy()
    limit, unique = checked.get("rate_limit"), checked.get("unique")
    if isinstance(unique, Mapping) and not unique.keys() <= UNIQUE_MEMBERS:
        del checked["unique"]
    if limit is not None:
        del checked["rate_limit"]
    try:
        read_envelope(checked, Instant(0))
        if isinstance(limit, Mapping):  # the values that it is by are not known yet
            read_limit({**limit, "by": None}, job.queue)
    except OjsError as problem:
        attribute = str(problem.details.get("field"))
        name = _written(attribute.removesuffix("_ms"), named)
        if name in {None, attribute}:
            raise
        message = str(problem).replace(f"'{attribute}'", f"'{name}'")
        raise type(problem)(message, details={**problem.details, "field": name}) from None


def _written(attribute: str, named: Collection[str]) -> str | None:
    """Return the name of the option that an attribute came from; None if there is none."""
    parameter = PARAMETERS.get(attribute)
    durations = (name for name, other in INSTEAD_OF.items() if other == parameter)
    return next((name for name in durations if name in named), parameter)


_NEVER_OBJECTS: Final = (
    *(str, int, float, bool, bytes, type(None), date, time, timedelta, Decimal, UUID, Enum),
    *(list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Set),
)
"""Types of which no value is an object on the wire."""


def with_places(options: JobOptions, signature: JobSignature, job_type: str) -> JobOptions:
    """Return options whose unique policy names each parameter as the wire knows it.

    A parameter with a place goes by its position. A keyword-only one keeps its name: it is a member
    of the object behind the others. Members of an object among the arguments stay, too.

    :raises RegistrationError: a name that no argument has, or that may be found in another one.
    """
    policy: object = options.get("unique")
    keys = policy.get("args_keys") if isinstance(policy, Mapping) else None
    if not isinstance(keys, (list, tuple)) or not all(isinstance(key, str) for key in keys):
        return options  # a wrong policy is refused with the other attributes
    placed = dict.fromkeys(_key_on_wire(key, signature, job_type) for key in keys)
    policy = {**cast("Mapping[str, Any]", policy), "args_keys": list(placed)}
    return cast("JobOptions", {**options, "unique": policy})


def _key_on_wire(key: str, signature: JobSignature, job_type: str) -> str:
    for place, each in enumerate(signature.placed):
        if each.name == key:
            return str(place)
    holders = [
        (name, found)
        for name in (*(each.name for each in signature.placed), signature.rest)
        if name and (found := _may_hold(signature.known_type(name), key)) != "never"
    ]
    if any(each.name == key for each in signature.named):
        for name, found in holders:
            if found == "known":
                raise RegistrationError(
                    f"args_keys of {job_type!r}: {key!r} would be looked for in {name!r} first, "
                    f"which may have such a member. Write the parameter {key} before the * of "
                    f"{signature.name}, so that it has a place."
                )
    elif not holders and not _is_position(key, signature):
        raise RegistrationError(_unknown(key, signature, job_type))
    return key


def _is_position(key: str, signature: JobSignature) -> bool:
    """Return whether a key is the position of an argument, written as ``"0"``."""
    if not (key.isdecimal() and key == str(int(key[:9]))):
        return False
    return bool(signature.rest) or int(key) < len(signature.placed) + bool(signature.named)


def _unknown(key: str, signature: JobSignature, job_type: str) -> str:
    from difflib import get_close_matches  # only for a mistake

    names = [each.name for each in (*signature.placed, *signature.named)]
    close = get_close_matches(key, names, n=1)
    return (
        f"args_keys of {job_type!r} names {key!r}, and {signature.name} has no such argument"
        + (f": did you mean {close[0]!r}?" if close else ".")
        + (f" It has {', '.join(names)}." if names else "")
    )


def _may_hold(kind: object, key: str) -> Literal["known", "unknown", "never"]:
    """Return whether a value of a type may be an object with a member of this name.

    It is unknown where the type says nothing, such as Any, or cannot be read yet.
    """
    kind = written_out(kind)
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _may_hold(parts[0], key)
    if origin in UNIONS:
        found = {_may_hold(part, key) for part in parts}
        return "known" if "known" in found else "unknown" if "unknown" in found else "never"
    if origin is Literal:
        return "never"
    kind = origin or kind
    if not isinstance(kind, type):
        return "unknown"
    if issubclass(kind, _NEVER_OBJECTS):
        return "never"
    members = _members(kind)
    return "unknown" if members is None else "known" if key in members else "never"


class _AnyMember:
    """Stands for the members of an object that may have any."""

    def __contains__(self, _: object) -> bool:
        return True


def _members(kind: type) -> _AnyMember | set[str] | None:
    """Return what members an object of a class has on the wire; None if that is not known."""
    if typing.is_typeddict(kind):
        return set(kind.__annotations__)
    if issubclass(kind, collections.abc.Mapping):
        return _AnyMember()
    if is_dataclass(kind) and not hasattr(kind, "__pydantic_fields__"):
        return {each.name for each in fields(kind)}
    described = getattr(kind, "__pydantic_fields__", None)
    if not isinstance(described, Mapping) or getattr(kind, "__pydantic_root_model__", False):
        return None
    is_open = getattr(kind, "model_config", {}).get("extra") == "allow"
    return _AnyMember() if is_open else set(_field_names(described))


def _field_names(described: Mapping[str, Any]) -> Iterable[str]:
    for name, field in described.items():
        yield from filter(None, (name, field.alias, field.serialization_alias))
