"""Serves HTTP for the local server: requests become events of functions, or show the dashboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeAlias

from ojs_aws.bootstrap.clients import UuidGenerator
from ojs_aws.dashboard.files import answer_file, wants_page
from ojs_aws.domain.access import PermissionDeniedError
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
from ojs_aws.transport.http.negotiation import LOOPBACK_NAMES, check_host, check_page
from ojs_aws.transport.http.routes import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE_S, CORS_METHODS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from werkzeug.serving import BaseWSGIServer

    from ojs_aws.config import Settings
    from ojs_aws.domain.errors import OjsError
    from ojs_aws.local import LocalOptions


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
            authorizer = {"lambda": verdict["context"]}
            event = {**event, "requestContext": {**about, "authorizer": authorizer}}
        group = self.group_of(about["http"]["method"], event["rawPath"])
        result = self.handlers[group](event, LambdaContext(f"ojs-{group}", API_TIMEOUT_S))
        return http_answer(result)


def _last_id(event: Event) -> str:
    """Return the id of the last event that the client of a stream has; empty for none."""
    query: Mapping[str, str] = event.get("queryStringParameters") or {}
    return event["headers"].get("last-event-id") or query.get("last_event_id", "")


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


Serve: TypeAlias = "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]"
_PREFLIGHT: Final[tuple[tuple[str, str], ...]] = (
    ("Access-Control-Allow-Methods", ", ".join(CORS_METHODS)),
    ("Access-Control-Allow-Headers", ", ".join(CORS_HEADERS)),
    ("Access-Control-Max-Age", str(CORS_MAX_AGE_S)),
)


@dataclass(frozen=True, slots=True)
class Cors:
    """Answers preflights of the named origins, and lets their pages read the answers.

    :ivar origins: as browsers name them, such as ``https://jobs.example.com``.
    """

    application: Serve
    origins: Collection[str]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request; others than named origins are passed on unchanged."""
        origin = environ.get("HTTP_ORIGIN", "")
        if origin not in self.origins:
            return self.application(environ, start_response)
        allowed = [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
        is_preflight = "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
        if environ["REQUEST_METHOD"] == "OPTIONS" and is_preflight:
            start_response("204 No Content", [*allowed, *_PREFLIGHT])
            return []
        exposed = ("Access-Control-Expose-Headers", ", ".join(CORS_EXPOSED))

        def start(
            status: str, headers: list[tuple[str, str]], *problem: object
        ) -> Callable[[bytes], object]:
            return start_response(status, [*headers, *allowed, exposed], *problem)  # type: ignore[arg-type]

        return self.application(environ, start)


@dataclass(frozen=True, slots=True)
class Page:
    """Answers requests for the page's files, and passes the others on to the API.

    :ivar environment: what the page calls the environment; empty: what its host's name says.
    """

    application: Serve
    environment: str = ""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request; ``/`` is the page for those who accept HTML, and JSON otherwise."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/")
        headers = headers_of(environ)
        is_page = path != "/" or wants_page(headers.get("accept", ""))
        answer = None
        if method in {"GET", "HEAD"} and is_page:
            answer = answer_file(path, headers, environment=self.environment)
        if answer is None:
            return self.application(environ, start_response)
        length = ("Content-Length", str(len(answer.body)))
        start_response(status_line(answer.status), [*answer.headers.items(), length])
        return [answer.body if method == "GET" else b""]


_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - they are compared only


@dataclass(frozen=True, slots=True)
class SiteCheck:
    """Answers the requests that a check lets pass, and refuses the others.

    :ivar check: raises PermissionDeniedError; it takes headers by their names in lower case.
    """

    application: Serve
    check: Callable[[Mapping[str, str]], None]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        try:
            self.check(headers_of(environ))
        except PermissionDeniedError as problem:
            return refuse(problem, start_response)
        return self.application(environ, start_response)


def front_of(application: Serve, options: LocalOptions, settings: Settings) -> Serve:
    """Return an application as it is served: with the dashboard, and closed to other sites.

    With keys, any page may ask: no browser sends a key by itself.
    """
    if not options.has_auth:
        check = partial(check_page, origins=settings.cors_origins)
        application = SiteCheck(application, check)
    application = Page(application, options.environment)
    if settings.cors_origins:
        application = Cors(application, settings.cors_origins)
    own = (*LOOPBACK_NAMES, options.host, *options.host_names)
    names = tuple(dict.fromkeys(name.lower() for name in own))
    is_everywhere = options.host in _ALL_ADDRESSES
    return SiteCheck(application, partial(check_host, names=names, has_any_address=is_everywhere))


def listen(options: LocalOptions, application: Serve) -> BaseWSGIServer:
    """Return the server of an application, which listens."""
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        """Speaks HTTP/1.1 and leaves logging to the functions."""

        protocol_version = "HTTP/1.1"

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing: the functions log their requests."""

    return make_server(
        options.host, options.port, application, threaded=True, request_handler=Quiet
    )
