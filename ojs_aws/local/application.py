"""Serves HTTP for the local server: requests become events of the right functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.bootstrap.machine import UuidGenerator
from ojs_aws.domain.errors import InvalidRequestError
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
from ojs_aws.transport.http.calls import OJS_TYPE, OJS_VERSION
from ojs_aws.transport.http.errors import answer_error

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from ojs_aws.domain.errors import OjsError


def status_line(status: int) -> str:
    """Return a status with its phrase, as WSGI wants it."""
    return f"{status} {HTTPStatus(status).phrase}"


def refuse(problem: OjsError, start_response: StartResponse) -> list[bytes]:
    """Answer with an error in the form of the API."""
    request_id = UuidGenerator().request_id()
    body = answer_error(problem, request_id).text.encode()
    start_response(
        status_line(problem.status),
        [
            ("Content-Type", OJS_TYPE),
            ("OJS-Version", OJS_VERSION),
            ("X-Request-Id", request_id),
            ("Content-Length", str(len(body))),
        ],
    )
    return [body]


MAX_BODY_BYTES: Final = 10 * 1024 * 1024
"""What is read of a body; the functions refuse less."""

_LENGTH: Final = re.compile(r"\d{1,18}", re.ASCII)


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
        try:
            body = _body(environ)
        except InvalidRequestError as problem:
            return refuse(problem, start_response)
        event = http_event(method, path, environ.get("QUERY_STRING", ""), headers_of(environ), body)
        answer = self._answer(event)
        headers = [(name, value) for name, value in answer.headers.items()]
        if self.streams is not None and is_stream(answer):

            def ask(last_id: str) -> HttpAnswer:
                again = {**event["headers"], "last-event-id": last_id}
                return self._answer({**event, "headers": again})

            start_response(status_line(200), headers)
            return self.streams.follow(answer.body, ask, _last_id(event))
        headers.append(("Content-Length", str(len(answer.body))))
        start_response(status_line(answer.status), headers)
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


def _body(environ: WSGIEnvironment) -> bytes:
    """Return the body of a request.

    :raises InvalidRequestError: its length is no number, or its chunks are none.
    """
    length = environ.get("CONTENT_LENGTH") or "0"
    if environ.get("wsgi.input_terminated"):  # chunks, which say their lengths by themselves
        length = str(MAX_BODY_BYTES + 1)
    if not _LENGTH.fullmatch(length):
        raise _unreadable("Content-Length", "must be a number of bytes", length)
    try:
        return bytes(environ["wsgi.input"].read(min(int(length), MAX_BODY_BYTES + 1)))
    except ConnectionError:
        raise
    except OSError as problem:
        reason = f"says that the body has chunks: {problem}"
        raise _unreadable("Transfer-Encoding", reason, "chunked") from None


def _unreadable(header: str, reason: str, received: str) -> InvalidRequestError:
    details = {"field": header, "received": received[:40]}
    return InvalidRequestError(f"{header} {reason}.", details=details)


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
