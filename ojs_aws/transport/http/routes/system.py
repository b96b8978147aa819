"""What a server tells of itself."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.routes.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path="/ojs/manifest",
        operation="manifest",
        group=Group.SYSTEM,
        summary="What this server implements",
    ),
    Route(
        method="GET",
        path=f"{BASE}/health",
        aliases=("/health", "/ready", f"{BASE}/ready"),
        operation="health",
        group=Group.SYSTEM,
        summary="Whether the server and its table can be reached",
        errors=(503,),
    ),
    Route(
        method="GET",
        path=f"{BASE}/openapi.json",
        operation="openapi",
        group=Group.SYSTEM,
        summary="This API as an OpenAPI 3.1 document",
        media_type="application/json",
    ),
    Route(
        method="GET",
        path=f"{BASE}/metrics",
        aliases=("/metrics",),
        operation="metrics",
        group=Group.SYSTEM,
        summary="That the function is up, in the Prometheus text format",
        media_type="text/plain",
    ),
)
