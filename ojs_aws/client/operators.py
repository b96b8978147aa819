"""How a client reaches the operators' API: by its paths, over HTTP or in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ojs_aws.domain.errors import JsonValue


class OperatorTransport(Protocol):
    """Asks the operators' API. Every method raises the errors of ``ojs_aws.domain.errors``."""

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, JsonValue] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        repeatable: bool = True,
    ) -> Mapping[str, JsonValue]:
        """The members of an answer.

        :param path: below ``/ojs/v1``.
        :param repeatable: whether taking effect twice is the same as once.
        """


def text_in(members: Mapping[str, JsonValue], name: str) -> str:
    """A member that is a text; empty where it is not."""
    value = members.get(name)
    return value if isinstance(value, str) else ""


def number_in(members: Mapping[str, JsonValue], name: str) -> int:
    """A member that is a whole number; 0 where it is not."""
    value = members.get(name)
    return value if isinstance(value, int) else 0


def object_in(members: Mapping[str, JsonValue], name: str) -> dict[str, JsonValue]:
    """A member that is an object; empty where it is not."""
    value = members.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(members: Mapping[str, JsonValue], name: str) -> list[dict[str, JsonValue]]:
    """The objects of a member that is an array."""
    value = members.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
