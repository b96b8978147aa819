"""Listens for requests, keeps those of other sites' pages out, and shows the dashboard (WSGI)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from ojs_aws.dashboard.files import answer_file, wants_page
from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.local.application import headers_of, refuse
from ojs_aws.topology import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE_S, CORS_METHODS
from ojs_aws.transport.http.sites import LOOPBACK_NAMES, check_host, check_page

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from werkzeug.serving import BaseWSGIServer

    from ojs_aws.config import Settings
    from ojs_aws.local.options import LocalOptions


Serve: TypeAlias = "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]"
_PREFLIGHT: Final[tuple[tuple[str, str], ...]] = (
    ("Access-Control-Allow-Methods", ", ".join(CORS_METHODS)),
    ("Access-Control-Allow-Headers", ", ".join(CORS_HEADERS)),
    ("Access-Control-Max-Age", str(CORS_MAX_AGE_S)),
)
_REASONS: Final = {200: "OK", 304: "Not Modified"}


class Cors:
    """Answers preflights of the named origins, and lets their pages read the answers."""

    def __init__(self, application: Serve, origins: Iterable[str]) -> None:
        """Wrap an application.

        :param origins: as browsers name them, such as ``https://jobs.example.com``.
        """
        self._application = application
        self._origins = frozenset(origins)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request; others than named origins are passed on unchanged."""
        origin = environ.get("HTTP_ORIGIN", "")
        if origin not in self._origins:
            return self._application(environ, start_response)
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

        return self._application(environ, start)


class Page:
    """Answers requests for the page's files, and passes the others on to the API."""

    def __init__(self, application: Serve, environment: str = "") -> None:
        """Wrap an application.

        :param environment: what the page calls the environment; empty: what its host's name says.
        """
        self._application = application
        self._environment = environment

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request; ``/`` is the page for those who accept HTML, and JSON otherwise."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/")
        headers = headers_of(environ)
        is_page = path != "/" or wants_page(headers.get("accept", ""))
        answer = None
        if method in {"GET", "HEAD"} and is_page:
            answer = answer_file(path, headers, environment=self._environment)
        if answer is None:
            return self._application(environ, start_response)
        length = ("Content-Length", str(len(answer.body)))
        start_response(
            f"{answer.status} {_REASONS[answer.status]}", [*answer.headers.items(), length]
        )
        return [answer.body if method == "GET" else b""]


_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - they are compared only


class SiteCheck:
    """Answers the requests that a check lets pass, and refuses the others."""

    def __init__(self, application: Serve, check: Callable[[Mapping[str, str]], None]) -> None:
        """Wrap an application.

        :param check: raises PermissionDeniedError; it takes headers by their names in lower case.
        """
        self._application = application
        self._check = check

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        try:
            self._check(headers_of(environ))
        except PermissionDeniedError as problem:
            return refuse(problem, start_response)
        return self._application(environ, start_response)


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
