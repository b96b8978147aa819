"""Builds the Powertools resolver of a function from the route table.

Powertools keeps the current request in attributes that all threads share: right for Lambda, where
an instance has one request at a time, wrong for the local server. Here each thread has its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.event_handler.api_gateway import APIGatewayHttpResolver, Response
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from ojs_aws.domain.errors import MethodNotAllowedError, NotFoundError
from ojs_aws.transport.function_tracing import function_tracing
from ojs_aws.transport.http.authorization import authenticating, authorizing, check_bounds
from ojs_aws.transport.http.calls import NO_CONTENT, Call, Middleware, Server
from ojs_aws.transport.http.negotiation import READS
from ojs_aws.transport.http.request_middleware import (
    INVOCATION,
    answering_errors,
    checking_request,
    logging_requests,
    note_of,
    refusing_other_sites,
    request_of,
    response_of,
    setting_headers,
    tracing_requests,
)
from ojs_aws.transport.http.routes import (
    JOB_ENDPOINT,
    Group,
    Handler,
    Route,
    canonical_path,
    handler_of,
    import_main_handlers,
    methods_of,
    pattern_of,
    routes_of,
)
from ojs_aws.transport.tracing import NO_TRACING, Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from ojs_aws.services.backend import Backend

_LISTED: Final = "GET /ojs/v1/openapi.json lists the operations."
_ELSEWHERE: Final = (
    "This URL is for senders and workers. Use the URL of the API: the output ApiUrl of the stack."
)

_NOTED: Final = ("job_id", "queue", "worker_id", "workflow_id")
"""Parameters of paths that log lines and traces name."""


class HttpEvent(APIGatewayProxyEventV2):
    """Holds the event of a request, under its canonical path."""

    _canonical = ""

    @property
    def path(self) -> str:
        """Return the path without the stage, in the form of the route table."""
        if not self._canonical:
            self._canonical = canonical_path(super().path)
        return self._canonical


class _Current:
    """Holds the request that a thread works on, and what its middleware keep of it."""

    __slots__ = ("context", "event")

    def __init__(self, event: HttpEvent, invocation: str) -> None:
        self.event = event
        self.context: dict[str, Any] = {INVOCATION: invocation}


_CURRENT: ContextVar[_Current] = ContextVar("current_request")


class Resolver(APIGatewayHttpResolver):
    """Routes requests; safe for threads once it is sealed."""

    def resolve(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer an API Gateway HTTP API event (payload format 2.0)."""
        token = _CURRENT.set(
            _Current(HttpEvent(dict(event)), getattr(context, "aws_request_id", ""))
        )
        try:
            return super().resolve(event, context)
        finally:
            _CURRENT.reset(token)

    @property
    def current_event(self) -> HttpEvent:  # type: ignore[override]
        """Return the event of this thread's request."""
        return _CURRENT.get().event

    @property
    def context(self) -> dict[str, Any]:
        """Return what the middleware of this thread's request pass on to each other."""
        current = _CURRENT.get(None)
        return {} if current is None else current.context

    @context.setter
    def context(self, value: dict[str, Any]) -> None:
        """Powertools makes a first, empty one, which nothing uses."""

    @staticmethod
    def _compile_regex(rule: str, base_regex: str = "") -> re.Pattern[str]:
        """Return the pattern of the route table: Powertools' own knows only some characters."""
        del base_regex
        return pattern_of(rule)

    def seal(self) -> None:
        """Build each route's middleware now: two first requests at once would build it twice."""
        for route in (*self._static_routes, *self._dynamic_routes):
            route._build_middleware_stack(self._router_middlewares, self)  # noqa: SLF001


def build_resolver(
    backend: Backend,
    *groups: Group,
    logger: Logger | None = None,
    tracing: Tracing | None = None,
    authorize: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Resolver:
    """Return the resolver of one function.

    :param groups: of the routes that it serves; one for each function behind the gateway.
    :param logger: writes a line for each request; by default the functions' own.
    :param tracing: has a span for each request; by default as the settings say.
    :param authorize: adds what the authorizer finds to an event, where no gateway asks it.
    """
    server = Server(backend, backend.clock.now(), authorize)
    if logger is None:
        from ojs_aws.transport.logs import function_logger  # tests bring their own

        logger = function_logger()
    tracing = tracing or function_tracing(backend.settings)
    resolver = Resolver()
    resolver.use(
        [
            setting_headers(server),
            logging_requests(logger, has_source=groups == JOB_ENDPOINT),
            *_measuring(server),
            answering_errors(logger),
            *([] if tracing is NO_TRACING else [tracing_requests(tracing)]),
        ]
    )
    replacements = _test_handlers(server)
    for group in groups:
        import_main_handlers(group)
        for route in routes_of(group):
            _register(resolver, server, route, replacements.get(route.operation))
    hint = _ELSEWHERE if groups == JOB_ENDPOINT else _LISTED
    resolver.not_found(_unknown(resolver, authenticating(server), hint))
    resolver.seal()
    return resolver


def _measuring(server: Server) -> list[Middleware]:
    """Return the metrics of requests, if the deployment pays for them."""
    if not server.backend.settings.metrics_by_operation:
        return []
    from ojs_aws.transport.http.optional_middleware import measuring_requests

    return [measuring_requests(server)]


def _test_handlers(server: Server) -> Mapping[str, Handler]:
    """Return the handlers that replace ordinary ones in test mode."""
    if not server.backend.settings.test_mode:
        return {}
    from ojs_aws.transport.http.test_aids import HANDLERS  # absent when off

    return HANDLERS


def _register(
    resolver: Resolver, server: Server, route: Route, replacement: Handler | None
) -> None:
    """Serve a route and its aliases."""

    def serve(**path: str) -> Response[str]:
        handler = replacement or handler_of(route)
        note = note_of(resolver)
        note({name: path[name] for name in _NOTED if name in path})
        call = Call(server, request_of(resolver), path, note)
        check_bounds(call, route)
        answer = handler(call)
        if route.is_recorded:
            named = {name: call.named(name) for name in path}
            server.backend.audit(route.operation, {**named, **call.done}, call.actor)
        return response_of(answer)

    serve.__name__ = route.operation
    checks = [
        *_site_check(server, route),
        authorizing(server, route),
        *_client_limit(server, route),
        checking_request,
    ]
    for path in route.paths:
        resolver.route(path, [*route.methods], middlewares=checks)(serve)


def _site_check(server: Server, route: Route) -> list[Middleware]:
    """Return what keeps pages of other sites from changes, where a browser needs no credentials.

    Nor does it where an authorizer of the deployment's own accepts cookies or addresses. Keys and
    signatures are never sent by a browser itself.
    """
    settings = server.backend.settings
    if route.method in READS or settings.auth not in {"none", "gateway"}:
        return []
    return [refusing_other_sites(settings.cors_origins)]


def _client_limit(server: Server, route: Route) -> list[Middleware]:
    """Return the limit of API clients, if there is one.

    The system's operations have none, and neither have those on API keys: their function can
    touch nothing else of the table.
    """
    if server.backend.client_limits is None or route.group in {Group.SYSTEM, Group.API_KEYS}:
        return []
    from ojs_aws.transport.http.optional_middleware import limiting_clients  # few need it

    return [limiting_clients(server.backend.client_limits)]


def _unknown(
    resolver: Resolver, authenticate: Callable[[Resolver], object], hint: str
) -> Callable[[Exception], Response[str]]:
    """Return the answer to a request that no route of this function matches.

    :param hint: for an operation that another function serves.
    """

    def answer(_: Exception) -> Response[str]:
        if resolver.current_event.http_method.upper() != "OPTIONS":
            authenticate(resolver)
        request = request_of(resolver)
        methods = methods_of(request.path)
        # An operation that no function of this deployment serves: API keys, where there are none.
        if not methods or request.method in methods:
            raise NotFoundError(
                f"There is no {request.method} {request.path[:200]}.",
                details={"method": request.method, "path": request.path[:200]},
                hint=hint if methods else _LISTED,
            )
        allowed = ", ".join((*methods, "OPTIONS"))
        if request.method == "OPTIONS":
            return Response(NO_CONTENT, body="", headers={"Allow": allowed})
        raise MethodNotAllowedError(
            f"{request.path[:200]} knows no {request.method}, only {', '.join(methods)}.",
            details={"method": request.method, "allowed": [*methods]},
        )

    return answer
