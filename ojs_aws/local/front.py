"""Listens for requests, and keeps those of other sites' pages from the application (WSGI).

Everybody's browser reaches a server on its own machine, and any page may send requests there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access_errors import PermissionDeniedError
from ojs_aws.local.application import headers_of
from ojs_aws.local.page import Cors, Page, Serve
from ojs_aws.local.refusals import refuse
from ojs_aws.transport.http.sites import LOOPBACK_NAMES, check_host, check_page

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from werkzeug.serving import BaseWSGIServer

    from ojs_aws.config import Settings
    from ojs_aws.local.options import LocalOptions

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
