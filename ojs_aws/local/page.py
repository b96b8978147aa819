"""Shows the dashboard to browsers, beside the API (WSGI)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ojs_aws.dashboard.files import answer_file, wants_page
from ojs_aws.local.application import headers_of
from ojs_aws.local.cors import Serve

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_REASONS: Final = {200: "OK", 304: "Not Modified"}


class Page:
    """Answers requests for the page's files, and passes the others on to the API."""

    def __init__(self, application: Serve) -> None:
        """Wrap an application."""
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request; ``/`` is the page for those who accept HTML, and JSON otherwise."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/")
        headers = headers_of(environ)
        is_page = path != "/" or wants_page(headers.get("accept", ""))
        answer = answer_file(path, headers) if method in {"GET", "HEAD"} and is_page else None
        if answer is None:
            return self._application(environ, start_response)
        length = ("Content-Length", str(len(answer.body)))
        start_response(
            f"{answer.status} {_REASONS[answer.status]}", [*answer.headers.items(), length]
        )
        return [answer.body if method == "GET" else b""]
