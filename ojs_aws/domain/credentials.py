"""Describes what a credential says of its caller: one field here for all that carry it.

A field passes from the API key in the table through the authorizer to the caller of a request, and
into what ``ojs-aws keys`` shows. All of them read this declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypedDict

from ojs_aws.domain.errors import InvalidRequestError

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue

MAX_BOUNDS: Final = 50
MAX_NAME: Final = 100

_BOUND: Final = re.compile(r"[A-Za-z0-9_.-]{1,127}\*?|\*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Holds what API keys and callers have in common.

    :ivar name: what people call it.
    :ivar queues: names of queues, or beginnings that end in ``*``; empty: all.
    :ivar types: the same for job types.
    :ivar tenant: the only tenant whose jobs it may see and change; empty: of all tenants.
    """

    name: str = ""
    queues: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tenant: str = ""


class KeyOptions(TypedDict, total=False):
    """Holds the fields that a new key may be given beside its name."""

    queues: Iterable[str]
    types: Iterable[str]
    tenant: str


_NAMES: Final = tuple(field.name for field in fields(Credential))
_ALWAYS_WRITTEN: Final = frozenset({"queues", "types"})


def credential_fields(credential: Credential) -> dict[str, Any]:
    """Return the fields, to make another object that carries them."""
    return {name: getattr(credential, name) for name in _NAMES}


def write_credential(credential: Credential) -> dict[str, JsonValue]:
    """Return the fields as members of a JSON object: lists always, texts unless they are empty."""
    found: dict[str, JsonValue] = {}
    for name, value in credential_fields(credential).items():
        if isinstance(value, tuple):
            found[name] = [*value]
        elif value:
            found[name] = value
    return found


def read_credential(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that :func:`write_credential` wrote; a missing text is empty.

    :raises KeyError: ``queues`` or ``types`` is missing, which must not mean that there are none.
    """
    return {
        name: tuple(members[name]) if name in _ALWAYS_WRITTEN else members[name]
        for name in _NAMES
        if name in members or name in _ALWAYS_WRITTEN
    }


def read_options(options: KeyOptions) -> dict[str, Any]:
    """Return the fields for a new key, with sorted bounds."""
    return {
        name: value if isinstance(value, str) else bounds_of(value)
        for name, value in dict[str, Any](options).items()
    }


def bounds_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return bounds sorted and without repetitions; ``*`` alone means no bounds."""
    found = sorted({name.strip() for name in names if name.strip()})
    return () if "*" in found else tuple(found)


def check_credential(credential: Credential) -> None:
    """Refuse values that no credential can have.

    :raises InvalidRequestError: naming the field.
    """
    name = credential.name
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise invalid_field("name", f"A name has 1 to {MAX_NAME} printable characters.")
    for field, bounds in (("queues", credential.queues), ("types", credential.types)):
        if len(bounds) > MAX_BOUNDS:
            raise invalid_field(field, f"A key has at most {MAX_BOUNDS} {field}.")
        for bound in bounds:
            if not _BOUND.fullmatch(bound):
                message = f"'{bound[:140]}' is no name, and no beginning before '*'."
                raise invalid_field(field, message)
    if credential.tenant:
        from ojs_aws.domain.tenants import check_tenant  # few keys are of one

        check_tenant(credential.tenant, "tenant")


def invalid_field(field: str, message: str) -> InvalidRequestError:
    """Return the error of a field that a key cannot have."""
    return InvalidRequestError(message, details={"field": field})
