"""Requests of the client: an operation of the route table with what is sent to it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote

from ojs_aws.domain.json_text import RawJson, encode

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue
    from ojs_aws.transport.http.routes import Route

Texts: TypeAlias = Mapping[str, str]

NO_TEXTS: Final[Texts] = {}
_EMPTY: Final = RawJson("{}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """Represents a request for an operation of the route table.

    :ivar operation: as the route table names it.
    :ivar path: the parameters of its path, as they are: not encoded.
    :ivar query: parameters of the query; empty ones are not sent.
    :ivar body: JSON text, sent as it is; or a value to encode.
    :ivar repeatable: whether taking effect twice is the same as once, where it is not as the
        route table says.
    """

    operation: str
    path: Texts = field(default_factory=dict)
    query: Texts = field(default_factory=dict)
    body: RawJson | Mapping[str, JsonValue] | None = None
    repeatable: bool | None = None

    @property
    def route(self) -> Route:
        """Return the route of the operation.

        :raises KeyError: there is no such operation.
        """
        return _routes()[self.operation]

    @property
    def url_path(self) -> str:
        """Return the path of the URL, which begins with ``/ojs/v1``."""
        path = self.route.path
        for name, text in self.path.items():
            path = path.replace(f"<{name}>", segment(text))
        return path

    @property
    def given_query(self) -> dict[str, str]:
        """Return the parameters of the query that are not empty."""
        return {name: text for name, text in self.query.items() if text}

    @property
    def text(self) -> RawJson | None:
        """Return the body as it is sent: a POST without one sends an empty object."""
        if self.body is None:
            return _EMPTY if self.route.method == "POST" else None
        return self.body if isinstance(self.body, str) else encode({**self.body})

    @property
    def is_repeatable(self) -> bool:
        """Return True if the request may be sent again when its answer was lost."""
        return self.route.is_repeatable if self.repeatable is None else self.repeatable


def segment(text: str) -> str:
    """Encode a text as one segment of a path."""
    return quote(text, safe="")


@functools.cache
def _routes() -> Mapping[str, Route]:
    """Return the route table by operation; it is imported with the first request."""
    from ojs_aws.transport.http.routes import ROUTES

    return {route.operation: route for route in ROUTES}
