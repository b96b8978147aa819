"""Implements CORS for the local server; deployed, API Gateway does it (HTTP binding, 20)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from ojs_aws.topology import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE_S, CORS_METHODS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

Serve: TypeAlias = "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]"

_PREFLIGHT: Final[tuple[tuple[str, str], ...]] = (
    ("Access-Control-Allow-Methods", ", ".join(CORS_METHODS)),
    ("Access-Control-Allow-Headers", ", ".join(CORS_HEADERS)),
    ("Access-Control-Max-Age", str(CORS_MAX_AGE_S)),
)


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
