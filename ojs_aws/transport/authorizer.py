"""Implements the Lambda authorizer of the HTTP API: credentials become what the gateway passes on.

The job endpoint, which has no gateway, asks the same code.

It never refuses by itself. The gateway's own refusals have no OJS error and cannot be given one,
so the verdict goes to the function, which answers 401 with all that belongs to it. What the
authorizer finds is remembered by the gateway for the same credentials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ojs_aws.transport.http.callers import verdict_context
from ojs_aws.transport.tracing import NO_TRACING, Tracing

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

    from ojs_aws.services.access.api_keys import Verdict

Event: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[Event, object], dict[str, object]]


AUTHORIZER_SPAN: Final = "ojs.authorize"


def build_authorizer(
    authentication: Callable[[str], Verdict],
    logger: Logger | None = None,
    tracing: Tracing = NO_TRACING,
) -> Handler:
    """Return the handler of a Lambda authorizer with simple responses, payload format 2.0.

    Where the table does not answer it raises, which the gateway answers with 500 and does not
    remember.

    :param logger: records refusals, never credentials; by default the functions' own.
    :param tracing: has a span for each look; never with credentials.
    """
    if logger is None:
        from ojs_aws.transport.logs import function_logger  # tests bring their own

        logger = function_logger()

    def authorize(event: Event, _context: object) -> dict[str, object]:
        headers: Mapping[str, str] = event.get("headers") or {}
        given = next((v for name, v in headers.items() if name.lower() == "authorization"), "")
        with tracing.span(AUTHORIZER_SPAN, operation="authorize") as span:
            verdict = authentication(given)
            span.note(principal=verdict.key_id, refused=verdict.caller is None)
        if verdict.caller is None:
            request = event.get("requestContext") or {}
            about = {
                "event_type": "authentication.failed",
                "principal": verdict.key_id,
                "source_ip": (request.get("http") or {}).get("sourceIp", ""),
                "outcome": "failure",
                "reason": str(verdict.refusal),
                "request_id": request.get("requestId", ""),
            }
            logger.warning("Credentials refused", extra=about)
        return {"isAuthorized": True, "context": verdict_context(verdict)}

    return authorize


def authorizing_events(authorizer: Handler) -> Callable[[Event], Event]:
    """Return a function that adds what an authorizer finds to an event, as the gateway does.

    What the event itself says of its caller is replaced.
    """

    def authorize(event: Event) -> Event:
        context = authorizer(event, None)["context"]
        request = event.get("requestContext") or {}
        return {**event, "requestContext": {**request, "authorizer": {"lambda": context}}}

    return authorize
