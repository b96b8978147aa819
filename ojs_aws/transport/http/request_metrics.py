"""Measures requests by operation. Off by default.

The metrics stand in the log line of the request, in CloudWatch's embedded metric format, so they
need no call and no further line. API Gateway counts requests and their durations without them, free
of charge; CloudWatch bills each operation as a metric of its own.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from ojs_aws.topology import METRICS
from ojs_aws.transport.http.calls import Middleware, Next
from ojs_aws.transport.http.request_middleware import MEASURED

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import ApiGatewayResolver
    from aws_lambda_powertools.event_handler.api_gateway import Response

    from ojs_aws.transport.http.calls import Server

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
