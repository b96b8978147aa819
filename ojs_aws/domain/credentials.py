"""Names who asks: what a credential says of its caller, and who made a change.

A field of a credential passes from the API key in the table through the authorizer to the caller of
a request, and into what ``ojs-aws keys`` shows. All of them read the declaration here.

An item keeps who made a change as a text beside a number that changes with each change of its kind
(a version, a revision, an instant). So nobody is named for a change that somebody else made, or an
older version. Later changes leave it as it is, since a claim knows nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict

from ojs_aws.domain.errors import InvalidRequestError, JsonValue

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.timestamps import Instant

MAX_BOUNDS: Final = 50
MAX_NAME: Final = 100
ANONYMOUS: Final = "anonymous"
"""Who makes a change where access is open."""
MAX_KEPT: Final = 256
"""Characters of an id, and of a name, that are kept with a change."""

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


@dataclass(frozen=True, slots=True)
class Actor:
    """Names who makes a change.

    :ivar id: of the credential.
    :ivar name: what people call it.
    """

    id: str
    name: str = ""

    @property
    def text(self) -> str:
        """Return it as it is stored: without a name that the id says already."""
        return self.id if self.name == _name_in(self.id) else f"{self.id}\t{self.name}"

    @property
    def members(self) -> dict[str, JsonValue]:
        """Return it as events show it."""
        return {"id": self.id, "name": self.name}

    def __str__(self) -> str:
        """Return what people call it."""
        return self.name or self.id


def actor_of(actor_id: str, name: str) -> Actor:
    """Return the actor of a credential; an empty id is anybody's, where access is open."""
    if not actor_id:
        return Actor(ANONYMOUS, ANONYMOUS)
    return Actor(actor_id[:MAX_KEPT], name[:MAX_KEPT])


def stored_actor(actor: Actor | None, number: int) -> str:
    """Return who made a change, as it is stored; empty for the backend itself.

    :param number: of the change.
    """
    return "" if actor is None else f"{number} {actor.text}"


def read_actor(text: str, number: int | None = None) -> Actor | None:
    """Return who made a change; None where nobody knows.

    :param text: what was stored.
    :param number: of the change; None for whichever it was.
    """
    about, _, whose = text.partition(" ")
    if not whose or (number is not None and about != str(number)):
        return None
    actor_id, mark, name = whose.partition("\t")
    return Actor(actor_id, name if mark else _name_in(actor_id))


def change_number(text: str) -> int | None:
    """Return the number of the change that an actor was stored with; None where nobody knows."""
    about = text.partition(" ")[0]
    return int(about) if about.isdecimal() else None


def by_whom(text: str, number: int | None = None) -> dict[str, JsonValue]:
    """Return the member ``by`` of an event's data; nothing where nobody knows."""
    actor = read_actor(text, number)
    return {} if actor is None else {"by": actor.members}


def _name_in(actor_id: str) -> str:
    return actor_id.partition(":")[2] or actor_id


def by_hand(job: JobRecord, actor: Actor | None) -> JobRecord:
    """Return a job as somebody has just made it; as it is for the backend itself."""
    return job if actor is None else replace(job, changed_by=stored_actor(actor, job.version))


class AttemptBound(Protocol):
    """Limits a caller to reports on one attempt of a job (``attempt_tokens.py``)."""

    @property
    def job_id(self) -> str:
        """Return the job's id."""

    @property
    def attempt(self) -> int:
        """Return the attempt's number."""

    @property
    def reservation_id(self) -> str:
        """Return the id of its claim."""

    @property
    def ends_at(self) -> Instant:
        """Return when the attempt's execution timeout ends."""

    def check_operation(self, operation: str) -> None:
        """Refuse what is no report.

        :raises PermissionDeniedError: naming the operation.
        """

    def check_report(
        self, job_id: str, reservation_id: str | None = None, attempt: int | None = None
    ) -> None:
        """Refuse a report on another job, or one that names another attempt.

        :raises PermissionDeniedError: naming what the report is about.
        """
