"""Serves HTTP for the local server: requests become events of the right functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.local.event_streams import EventStreams, is_stream
from ojs_aws.local.lambdas import (
    API_TIMEOUT_S,
    Event,
    Handler,
    HttpAnswer,
    LambdaContext,
    http_answer,
    http_event,
)

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MAX_BODY_BYTES: Final = 10 * 1024 * 1024
"""What is read of a body; the functions refuse less."""


@dataclass(frozen=True)
class Application:
    """Turns each request into an event for the function it belongs to (WSGI).

    :ivar group_of: returns the function group of a method and a path.
    :ivar reset: clears all state; served as POST /ojs/v1/test/reset in test mode.
    :ivar authorizer: asked before each request, as the gateway asks it.
    :ivar streams: holds streams of server-sent events open; without it they end at once.
    """

    handlers: Mapping[str, Handler]
    group_of: Callable[[str, str], str]
    reset: Callable[[], None] | None = None
    authorizer: Handler | None = None
    streams: EventStreams | None = None

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/")
        path = path.encode("latin-1").decode("utf-8", "replace")
        if self.reset and (method, path) == ("POST", "/ojs/v1/test/reset"):
            self.reset()
            start_response("200 OK", [("Content-Type", "application/json")])
            return [b'{"reset":true}']
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(min(length, MAX_BODY_BYTES + 1)) if length else b""
        event = http_event(method, path, environ.get("QUERY_STRING", ""), headers_of(environ), body)
        answer = self._answer(event)
        headers = [(name, value) for name, value in answer.headers.items()]
        if self.streams is not None and is_stream(answer):

            def ask(last_id: str) -> HttpAnswer:
                again = {**event["headers"], "last-event-id": last_id}
                return self._answer({**event, "headers": again})

            start_response("200 OK", headers)
            return self.streams.follow(answer.body, ask, _last_id(event))
        headers.append(("Content-Length", str(len(answer.body))))
        start_response(f"{answer.status} {_REASONS.get(answer.status, 'Status')}", headers)
        return [answer.body if method != "HEAD" else b""]

    def _answer(self, event: Event) -> HttpAnswer:
        """Let the right function answer, after the authorizer was asked."""
        about = event["requestContext"]
        if self.authorizer is not None:
            verdict = self.authorizer(event, LambdaContext("ojs-authorizer", API_TIMEOUT_S))
            event = {**event, "requestContext": {**about, "authorizer": _verdict(verdict)}}
        group = self.group_of(about["http"]["method"], event["rawPath"])
        result = self.handlers[group](event, LambdaContext(f"ojs-{group}", API_TIMEOUT_S))
        return http_answer(result)


def _last_id(event: Event) -> str:
    """Return the id of the last event that the client of a stream has; empty for none."""
    query: Mapping[str, str] = event.get("queryStringParameters") or {}
    return event["headers"].get("last-event-id") or query.get("last_event_id", "")


def _verdict(verdict: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"lambda": verdict["context"]}


_REASONS: Final = {200: "OK", 201: "Created", 204: "No Content", 400: "Bad Request"}


def headers_of(environ: WSGIEnvironment) -> dict[str, str]:
    """Return the headers of a request by their names in lower case."""
    headers = {
        name[5:].replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.replace("_", "-").lower()] = environ[name]
    return headers
