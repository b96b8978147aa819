"""The functions as an HTTP client sees them: requests become events, and their handlers answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aws_lambda_powertools import Logger

from ojs_aws.domain.json_text import Member, parse_object
from ojs_aws.local.lambdas import HttpAnswer, LambdaContext, http_answer, http_event
from ojs_aws.services.backend import Backend
from ojs_aws.transport.http.resolver import Resolver, build_resolver
from ojs_aws.transport.http.routes import Group, group_of

OJS = "application/openjobspec+json"
BASE = "/ojs/v1"


@dataclass(frozen=True)
class Reply:
    """An answer, read."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.text)

    @property
    def members(self) -> dict[str, Member]:
        """The body's members, each with its own text."""
        return parse_object(self.text, max_depth=1000)

    @property
    def error(self) -> Any:
        """The error object."""
        return self.json["error"]


class Handlers(dict[Group, Resolver]):
    """The functions by group. Each is made by its first request: most tests use one or two.

    The one that says since when it runs is made at once.
    """

    def __init__(self, backend: Backend, logger: Logger | None) -> None:
        super().__init__()
        self._backend, self._logger = backend, logger
        self[Group.SYSTEM]

    def __missing__(self, group: Group) -> Resolver:
        return self.setdefault(group, build_resolver(self._backend, group, logger=self._logger))


class Api:
    """The functions over one backend."""

    def __init__(self, backend: Backend, logger: Logger | None = None) -> None:
        self.handlers = Handlers(backend, logger)
        self.authorizer: dict[str, Any] = {}
        """What the gateway's authorizer says of all requests."""

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request; a body that is no text or bytes is sent as JSON."""
        content = as_bytes(body)
        given = {"content-type": OJS} if content else {}
        given |= {name.lower(): value for name, value in (headers or {}).items()}
        event = http_event(method, path, urlencode(query or {}), given, content)
        if self.authorizer:
            event["requestContext"]["authorizer"] = self.authorizer
        handler = self.handlers[group_of(method, path)]
        answer: HttpAnswer = http_answer(handler(event, LambdaContext("test", 29.0)))
        return Reply(answer.status, answer.headers, answer.body.decode())

    def post(self, path: str, body: object = None, **more: Any) -> Reply:
        """POST below /ojs/v1."""
        return self.send("POST", BASE + path, body, **more)

    def get(self, path: str, **more: Any) -> Reply:
        """GET below /ojs/v1."""
        return self.send("GET", BASE + path, **more)

    def delete(self, path: str, **more: Any) -> Reply:
        """DELETE below /ojs/v1."""
        return self.send("DELETE", BASE + path, **more)

    def push(
        self,
        type: str = "demo.echo",  # noqa: A002 - as the envelope has it
        args: Sequence[Any] = (1,),
        **members: Any,
    ) -> str:
        """Push a job, which is accepted; its id."""
        reply = self.post("/jobs", {"type": type, "args": [*args], **members})
        assert reply.status == 201, reply.text
        return str(reply.json["id"])

    def fetch(self, queue: str = "default", worker_id: str = "w", **more: Any) -> list[Any]:
        """Fetch jobs of a queue."""
        body = {"queues": [queue], "worker_id": worker_id, **more}
        return list(self.post("/workers/fetch", body).json["jobs"])


def as_bytes(body: object) -> bytes:
    """A body as it is sent."""
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()
