"""The operators' API in this process, for operators inside AWS.

The handlers of the HTTP API answer, without a server: so both ways say the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

from ojs_aws.domain.errors import JsonValue, NotFoundError
from ojs_aws.domain.json_text import ANY_DEPTH, encode, parse_object
from ojs_aws.services.backend import Backend
from ojs_aws.transport.http.calls import Call, Request, Server
from ojs_aws.transport.http.handlers.homes import handler_of
from ojs_aws.transport.http.routes import BASE, find, pattern_of


class DirectOperators:
    """The port OperatorTransport over the handlers."""

    def __init__(self, backend: Backend) -> None:
        """Use the services of a deployment."""
        self._server = Server(backend, backend.clock.now())

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, JsonValue] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        repeatable: bool = True,
    ) -> Mapping[str, JsonValue]:
        """Let the handler of a route answer, in a thread."""
        del repeatable  # nothing is sent again
        return await asyncio.to_thread(self._answer, method, BASE + path, body, query or {})

    def _answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, JsonValue] | None,
        query: Mapping[str, str],
    ) -> Mapping[str, JsonValue]:
        route = find(method, path)
        if route is None:
            raise NotFoundError(f"There is no {method} {path}.")
        matches = (pattern_of(each).fullmatch(urlsplit(path).path) for each in route.paths)
        parameters = next(match.groupdict() for match in matches if match)
        request = Request(
            method=method,
            path=path,
            headers={},
            query=query,
            body=b"" if body is None else encode({**body}).encode(),
            id=self._server.backend.ids.request_id(),
        )
        answer = handler_of(route)(Call(self._server, request, parameters))
        members = parse_object(answer.body, max_depth=ANY_DEPTH)
        return {name: member.value for name, member in members.items()}
