"""Holds the middleware that is off by default: rates of clients, and metrics by operation.

Authenticated requests are counted by credential, and by IP address where access is open. A request
without a credential is refused earlier, and costs no write.

The metrics stand in the log line of the request, in CloudWatch's embedded metric format, so they
need no call and no further line. API Gateway counts requests and their durations without them, free
of charge; CloudWatch bills each operation as a metric of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.access import Caller
from ojs_aws.domain.errors import RateLimitedError
from ojs_aws.domain.limits import ClientRate, Standing
from ojs_aws.topology import METRICS
from ojs_aws.transport.http.authorization import CALLER
from ojs_aws.transport.http.calls import Middleware, Next
from ojs_aws.transport.http.request_middleware import MEASURED, RATE_HEADERS

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import ApiGatewayResolver
    from aws_lambda_powertools.event_handler.api_gateway import Response

    from ojs_aws.services.access.callers import ClientRateLimits
    from ojs_aws.transport.http.calls import Server


def limiting_clients(limiting: ClientRateLimits) -> Middleware:
    """Return middleware that refuses the requests of a client beyond its rate.

    ``setting_headers`` adds its headers to every answer, also to errors.
    """
    rate = limiting.rate

    def limit(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        client = client_of(app.context[CALLER], app.current_event.raw_event)
        standing = limiting(client)
        now_us = limiting.now_us()
        app.context[RATE_HEADERS] = headers_of_rate(standing, rate, now_us)
        if standing.is_refused:
            raise _refusal(standing, rate, now_us)
        return next_middleware(app)

    return limit


def client_of(caller: Caller, event: Mapping[str, Any]) -> str:
    """Return the key that requests are counted by: the credential's id, else the IP address."""
    if caller.id:
        return caller.id
    context = event.get("requestContext") or {}
    return f"ip:{(context.get('http') or {}).get('sourceIp') or 'unknown'}"


def headers_of_rate(standing: Standing, rate: ClientRate, now_us: int) -> dict[str, str]:
    """Return the headers of the HTTP binding, section 18.1.

    The limit that they show is the burst (ojs-rate-limiting, 10.4). Instants are rounded up.
    """
    remaining = 0 if standing.is_refused else standing.remaining(rate, now_us)
    resets = -(-standing.next_at_us(rate, now_us) // 1_000_000)
    return {
        "X-RateLimit-Limit": str(rate.burst),
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": str(resets),
    }


def _refusal(standing: Standing, rate: ClientRate, now_us: int) -> RateLimitedError:
    wait_s = standing.wait_s(rate, now_us)
    return RateLimitedError(
        f"Too many requests: {rate.per_s} a second are allowed, {rate.burst} at once.",
        details={
            "limit": rate.per_s,
            "window_seconds": 1,
            "burst": rate.burst,
            "retry_after_seconds": wait_s,
        },
        hint=f"Repeat the request in {wait_s} s, or later.",
    )


DURATION: Final = "ojs.api.request_duration"
FAULTS: Final = "ojs.api.faults"
OPERATION: Final = "operation"
"""The only dimension; it has one value for each operation of the API."""

_FAULT: Final = 500


def measuring_requests(server: Server) -> Middleware:
    """Return the middleware that measures time and server faults of each request."""

    def measure(app: ApiGatewayResolver, next_middleware: Next) -> Response[str]:
        begun = time.perf_counter()
        response = next_middleware(app)
        app.context[MEASURED] = {
            DURATION: round((time.perf_counter() - begun) * 1000, 3),
            FAULTS: int(response.status_code >= _FAULT),
            "_aws": {
                "Timestamp": server.backend.clock.now(),
                "CloudWatchMetrics": [
                    {
                        "Namespace": METRICS,
                        "Dimensions": [[OPERATION]],
                        "Metrics": [
                            {"Name": DURATION, "Unit": "Milliseconds"},
                            {"Name": FAULTS, "Unit": "Count"},
                        ],
                    }
                ],
            },
        }
        return response

    return measure
