"""What is in a chain or among the hooks, for people and for the API (section 5.4)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain.errors import JsonValue
from ojs_aws.middleware.members import Members


@dataclass(frozen=True, slots=True)
class Described:
    """One member.

    :ivar name: by which it is addressed.
    :ivar kind: its class, or the function itself, with its module.
    :ivar implements: the interfaces by which it takes part.
    """

    name: str
    kind: str
    implements: tuple[str, ...]

    def as_dict(self) -> dict[str, JsonValue]:
        """As JSON data."""
        return {"name": self.name, "kind": self.kind, "implements": [*self.implements]}


def describe(members: Members) -> list[Described]:
    """The members, outermost or first called first."""
    return [
        Described(member.name, _kind(member.middleware), tuple(member.calls))
        for member in members.members()
    ]


def _kind(middleware: object) -> str:
    named = middleware if hasattr(middleware, "__qualname__") else type(middleware)
    return f"{named.__module__}.{named.__qualname__}"
