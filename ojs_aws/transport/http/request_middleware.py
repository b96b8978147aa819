"""Implements what every request needs as middleware, so that no handler repeats it.

Each function here makes one Powertools middleware; the resolver puts them around all its routes,
the unknown ones included. From the outside in: standard headers, the log line, errors, checks.
"""

from __future__ import annotations

import base64
import binascii
import functools
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.event_handler.api_gateway import Response

from ojs_aws.domain.access import NOBODY, Caller, PermissionDeniedError, UnauthenticatedError
from ojs_aws.domain.errors import InvalidPayloadError, OjsError
from ojs_aws.domain.runtime import RequestScope, current_request
from ojs_aws.transport.http.authorization import CALLER
from ojs_aws.transport.http.calls import (
    NO_CONTENT,
    OJS_VERSION,
    Answer,
    Middleware,
    Next,
    Note,
    Request,
    Server,
)
from ojs_aws.transport.http.errors import answer_error, is_fault, redacted
from ojs_aws.transport.http.negotiation import (
    answer_type,
    check_content_type,
    check_page,
    check_version,
    expanded,
    is_request_id,
)
from ojs_aws.transport.tracing import Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger
    from aws_lambda_powertools.event_handler import ApiGatewayResolver
    from aws_lambda_powertools.utilities.typing import LambdaContext


RATE_HEADERS: Final = "rate_headers"
"""Where the headers of a client's limit wait for the answer, whatever it will be."""

ABOUT: Final = "about"
"""What a request was found to be about; what takes more of it stands beside it."""

MEASURED: Final = "measured"
"""Where the metrics of a request wait for its line of the log."""

INVOCATION: Final = "invocation"
"""The id of the invocation that answers a request."""

_ID: Final = "request_id"
_NOTE: Final = "note"
_REQUEST: Final = "request"
_HEADERS: Final = "headers"


def setting_headers(server: Server) -> Middleware:
    """Set the standard headers of every answer (HTTP binding, section 6.5), and its id."""
    setting = server.backend.settings.json_content_type

    def set_headers(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        headers, context = headers_of(app), app.context
        given = headers.get("x-request-id", "").strip()
        request_id = given if is_request_id(given) else server.backend.ids.request_id()
        context[_ID] = request_id
        response = next_middleware(app)
        if response.status_code != NO_CONTENT:
            response.headers.setdefault("Content-Type", answer_type(headers, setting))
        response.headers["OJS-Version"] = OJS_VERSION
        response.headers.update(context.get(RATE_HEADERS, {}))
        response.headers["X-Request-Id"] = request_id
        if app.current_event.http_method.upper() == "HEAD":
            response.body = ""
        return response

    return set_headers


def logging_requests(logger: Logger, *, has_source: bool = False) -> Middleware:
    """Log one line for each request, under its id; never the arguments of a job.

    That line, and every other one that is written from then on, names the jobs of the request.

    :param has_source: name the caller's address, where no gateway logs it.
    """

    def log_request(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        about: dict[str, str] = {}

        def note(values: Mapping[str, str]) -> None:
            about.update({name: value for name, value in values.items() if value})
            logger.thread_safe_append_keys(**about)

        context = app.context
        context[ABOUT], context[_NOTE] = about, note
        logger.thread_safe_append_keys(
            correlation_id=context[_ID], function_request_id=context[INVOCATION]
        )
        begun = time.perf_counter()
        try:
            response = next_middleware(app)
            event = app.current_event
            fields: dict[str, object] = {
                "method": event.http_method,
                "path": event.path[:200],
                "operation": operation_of(app),
                "status": response.status_code,
                "duration_ms": round((time.perf_counter() - begun) * 1000, 3),
                **context.get(MEASURED, {}),
            }
            if principal := _caller(app).id:
                fields["principal"] = principal
            if has_source:
                fields["source_ip"] = source_of(event.raw_event)
            logger.info("Request answered", extra=fields)
        finally:
            logger.thread_safe_clear_keys()
        return response

    return log_request


def tracing_requests(tracing: Tracing) -> Middleware:
    """Trace each request by a span, which contains its AWS calls."""

    def trace_request(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        operation = operation_of(app)
        with tracing.span(
            f"ojs.{operation}", operation=operation, request_id=app.context[_ID]
        ) as span:
            try:
                return next_middleware(app)
            finally:
                span.note(**app.context[ABOUT])

    return trace_request


def answering_errors(logger: Logger) -> Middleware:
    """Turn errors into answers; the server's own are logged with their stack."""

    def answer_errors(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        scope = RequestScope(left_s=functools.partial(_left_s, app.lambda_context))
        token = current_request.set(scope)
        try:
            return next_middleware(app)
        except Exception as caught:
            problem = redacted(caught, _caller(app)) if isinstance(caught, OjsError) else caught
            if isinstance(problem, UnauthenticatedError | PermissionDeniedError):
                logger.warning("Access refused", extra=_refusal(app, problem))
            elif is_fault(problem):
                text = str(problem) if isinstance(problem, OjsError) else type(problem).__name__
                logger.exception("Request failed", extra={"error": text})
            answer = answer_error(
                problem, app.context[_ID], may_have_written=scope.may_have_written
            )
            return response_of(answer)
        finally:
            current_request.reset(token)

    return answer_errors


def _left_s(context: LambdaContext) -> float:
    """Return the seconds until the function's time is over."""
    return context.get_remaining_time_in_millis() / 1000


def refusing_other_sites(origins: Collection[str]) -> Middleware:
    """Refuse requests of pages of other sites.

    :param origins: whose pages may ask, beside the server's own.
    """

    def refuse(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        check_page(headers_of(app), origins)
        return next_middleware(app)

    return refuse


def checking_request(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
    """Refuse versions and content types that this server does not speak; decode the body."""
    request = request_of(app)
    check_version(request)
    if check_content_type(request):
        from ojs_aws.transport.http.jobs.cloud_events import push_of  # few requests bring one

        app.context[_REQUEST] = push_of(request)
    return next_middleware(app)


def request_of(app: ApiGatewayResolver) -> Request:
    """Return the request that the resolver works on.

    :raises InvalidPayloadError: a body that is not the base64, or not compressed, as is said of it.
    :raises PayloadTooLargeError: it is too large once it is decompressed.
    :raises UnsupportedCompressionError: a compression that this server does not read.
    """
    context = app.context
    known: Request | None = context.get(_REQUEST)
    if known is None:
        event, headers = app.current_event, headers_of(app)
        known = Request(
            method=event.http_method.upper(),
            path=event.path,
            headers=headers,
            query=event.query_string_parameters or {},
            body=expanded(_body(event.raw_event), headers.get("content-encoding", "")),
            id=context[_ID],
            caller=_caller(app),
        )
        context[_REQUEST] = known
    return known


def note_of(app: ApiGatewayResolver) -> Note:
    """Return the function that notes what the resolver's request is about."""
    note: Note = app.context[_NOTE]
    return note


def operation_of(app: ApiGatewayResolver) -> str:
    """Return the operation of the resolver's request; ``unknown`` where no route matches."""
    return getattr(getattr(app.context.get("_route"), "func", None), "__name__", "unknown")


def _caller(app: ApiGatewayResolver) -> Caller:
    """Return the caller that was found; nobody if none was looked for."""
    caller: Caller = app.context.get(CALLER, NOBODY)
    return caller


def _refusal(app: ApiGatewayResolver, problem: OjsError) -> dict[str, object]:
    """Return the audit log's record of a refusal (ojs-security, section 11), without secrets."""
    event = app.current_event
    is_unknown = isinstance(problem, UnauthenticatedError)
    return {
        "event_type": "authentication.failed" if is_unknown else "authorization.denied",
        "principal": _caller(app).id,
        "source_ip": source_of(event.raw_event),
        "outcome": "failure",
        "detail": {
            "method": event.http_method,
            "path": event.path[:200],
            "code": problem.code,
            **problem.details,
        },
    }


def source_of(event: Mapping[str, Any]) -> str:
    """Return the address that a request came from."""
    http = (event.get("requestContext") or {}).get("http") or {}
    source: str = http.get("sourceIp", "")
    return source


def headers_of(app: ApiGatewayResolver) -> Mapping[str, str]:
    """Return the request's headers, names in small letters."""
    context = app.context
    known: Mapping[str, str] | None = context.get(_HEADERS)
    if known is None:
        given: Mapping[str, str] = app.current_event.raw_event.get("headers") or {}
        known = context[_HEADERS] = {name.lower(): value for name, value in given.items()}
    return known


def _body(event: Mapping[str, Any]) -> bytes:
    """Return the body's bytes; the gateway encodes what may not be text."""
    body: str = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidPayloadError("The body is not valid base64.") from None


def response_of(answer: Answer[object]) -> Response[str]:
    """Return a handler's answer for Powertools; a content type not stated is negotiated."""
    return Response(
        status_code=answer.status,
        content_type=answer.media_type or None,
        body=answer.text,
        headers=answer.headers,
    )
