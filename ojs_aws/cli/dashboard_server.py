"""Serves the dashboard on this machine in front of any OJS server, and adds the credential.

It listens on 127.0.0.1 only. Pages of other sites can reach that address by way of the user's
browser, so it answers requests that name this server as their host and their origin, and no others.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from ojs_aws.client.transports.connection import BASE_PATH, base_url
from ojs_aws.client.transports.credentials import Credentials, chosen_credentials
from ojs_aws.dashboard.files import INDEX, answer_file, with_meta
from ojs_aws.domain.access import PermissionDeniedError
from ojs_aws.transport.http.negotiation import LOOPBACK_NAMES, READS, check_host, check_page

if TYPE_CHECKING:
    import httpx

LOOPBACK: Final = "127.0.0.1"
MAX_BODY_BYTES: Final = 10 * 1024 * 1024
"""What API Gateway takes of a body."""

IDLE_S: Final = 60
UPSTREAM_TIMEOUT_S: Final = 35.0
"""The gateway answers after 30 seconds, whatever happens."""

_API: Final = "/ojs/"
_TARGET: Final = re.compile(r"/(?!/)[!\"$-\[\]-~]*")
"""Matches a path with its query: one slash first, visible ASCII, no backslash and no fragment."""

OF_LOGIN: Final = frozenset({"authorization", "cookie"})
"""Headers of the login of an application around the page, which the server must not get."""
_SENT: Final = ("accept", "content-type")
_RETURNED: Final = (
    "cache-control", "content-type", "date", "ojs-version", "retry-after", "x-request-id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """Holds an answer to the browser."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Upstream:
    """Passes requests on to the OJS server, with the credential that it asks for."""

    def __init__(
        self,
        url: str,
        credentials: Credentials | None,
        *,
        http_transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Describe the server; nothing is opened yet.

        :param credentials: added to each request; None: those of the page.
        :raises ValueError: no http or https URL.
        """
        import httpx

        self.url = base_url(url).removesuffix(BASE_PATH)
        try:
            self._base = httpx.URL(self.url)
        except httpx.InvalidURL as problem:
            raise ValueError(f"{url!r} is no URL of an OJS server: {problem}") from None
        self._credentials = credentials
        self._http = httpx.Client(timeout=UPSTREAM_TIMEOUT_S, transport=http_transport)

    def forward(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return the server's answer; a 502 if there is none.

        :param target: the path with its query, as the browser sent it.
        :param headers: by their names in lower case.
        """
        import httpx

        sent = {name: headers[name] for name in _SENT if name in headers}
        try:
            url = self._url_of(target)
            request = self._http.build_request(method, url, content=body or None, headers=sent)
            credentials = self._credentials or self._pasted(headers)
            if credentials is not None:
                made = credentials.headers_for(method, str(request.url), request.headers, body)
                request.headers.update(asyncio.run(made))
            response = self._http.send(request)
        except (ValueError, httpx.InvalidURL) as problem:
            # No path, no AWS credentials, or plain HTTP to another machine.
            return refusal(400, "invalid_request", f"{problem}.")
        except httpx.TransportError as problem:
            reason = str(problem) or type(problem).__name__
            return refusal(502, "backend_error", f"No answer from {self.url}: {reason}.")
        kept = {name: response.headers[name] for name in _RETURNED if name in response.headers}
        return Reply(response.status_code, kept, response.content)

    def _url_of(self, target: str) -> httpx.URL:
        """Return the URL of a target at the server, and at no other one.

        :raises ValueError: the target is no path.
        """
        path = self._base.raw_path.rstrip(b"/") + target.encode("ascii")
        url = self._base.copy_with(raw_path=path)
        if (url.scheme, url.netloc) != (self._base.scheme, self._base.netloc):
            raise ValueError("The request names another server")
        return url

    def _pasted(self, headers: Mapping[str, str]) -> Credentials | None:
        """Return the credential that somebody pasted into the page."""
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        return chosen_credentials(self.url, None, text, None)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def refusal(status: int, code: str, message: str) -> Reply:
    """Return an error in the form of the API."""
    error = {"error": {"code": code, "message": message, "retryable": False}}
    return Reply(status, {"Content-Type": "application/json"}, json.dumps(error).encode())


class DashboardSite:
    """Answers requests for the page, and passes on what it asks of the API."""

    def __init__(self, upstream: Upstream, environment: str = "") -> None:
        """Show a server.

        :param environment: what the page calls the environment; empty: what the server's name says.
        """
        self.upstream = upstream
        self._environment = environment

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return the answer to a request of the browser.

        :param path: with its query, relative to where the page is: ``/`` is the page.
        :param headers: by their names in lower case.
        """
        name = urlsplit(path).path
        if not _TARGET.fullmatch(path):
            return refusal(400, "invalid_request", "The request names no path of this server.")
        if name.startswith(_API):
            return self._api(method, path, headers, body)
        if method in READS and name in {"/", f"/{INDEX}"}:
            return self._page()
        found = answer_file(name, headers) if method in READS else None
        if found is None:
            return refusal(404, "not_found", f"There is no {method} {name}.")
        return Reply(found.status, found.headers, found.body)

    def _api(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Pass a request of the page on, and none of other sites' pages."""
        try:
            check_page(headers)
        except PermissionDeniedError as problem:
            return refusal(problem.status, problem.code, problem.message)
        if ".." in unquote(urlsplit(path).path).split("/"):
            return refusal(400, "invalid_request", "The path leads upwards.")
        return self.upstream.forward(method, path, headers, body)

    def _page(self) -> Reply:
        """Return the page, which names the real server in the commands that it shows."""
        found = answer_file("/", {}, environment=self._environment)
        assert found is not None  # noqa: S101 - it is in the package
        body = with_meta(found.body, "ojs-server", self.upstream.url)
        headers = {name: value for name, value in found.headers.items() if name != "ETag"}
        return Reply(200, {**headers, "Cache-Control": "no-store"}, body)


class DashboardServer:
    """Serves the page on this machine.

    :ivar url: where the page is.
    """

    def __init__(self, upstream: Upstream, port: int, environment: str = "") -> None:
        """Listen on the port.

        :param port: 0 picks a free one.
        :param environment: what the page calls the environment; empty: what the server's name says.
        :raises OSError: the port is in use.
        """
        self.upstream = upstream
        self._site = DashboardSite(upstream, environment)
        self._server = ThreadingHTTPServer((LOOPBACK, port), partial(_Handler, self))
        self._server.daemon_threads = True
        self.url = f"http://{LOOPBACK}:{self._server.server_port}/"

    def serve(self) -> None:
        """Answer requests until :meth:`stop`."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """End :meth:`serve`; may be called in a signal handler."""
        threading.Thread(target=self._server.shutdown, daemon=True).start()

    def close(self) -> None:
        """Close the port."""
        self._server.server_close()
        self.upstream.close()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return the answer to a request of the browser, under a name of this machine."""
        try:
            check_host(headers, LOOPBACK_NAMES)
        except PermissionDeniedError as problem:
            return refusal(problem.status, problem.code, problem.message)
        return self._site.answer(method, path, headers, body)


class _Handler(BaseHTTPRequestHandler):
    """Reads requests and writes answers."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_S

    def __init__(self, server: DashboardServer, *arguments: object) -> None:
        self._dashboard = server
        super().__init__(*arguments)  # type: ignore[arg-type]

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal():
            self._send(refusal(411, "invalid_request", "Say the length of the body."))
        elif int(length) > MAX_BODY_BYTES:
            self._send(refusal(413, "envelope_too_large", "The body is too long."))
        else:
            body = self.rfile.read(int(length))
            self._send(self._dashboard.answer(self.command, self.path, headers, body))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def _send(self, reply: Reply) -> None:
        self.send_response_only(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        if reply.status in {411, 413}:  # the body was not read
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal shows where the page is."""
