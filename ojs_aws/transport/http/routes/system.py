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
        response="ManifestAnswer",
    ),
    Route(
        method="GET",
        path=f"{BASE}/health",
        aliases=("/health", "/ready", f"{BASE}/ready"),
        operation="health",
        group=Group.SYSTEM,
        summary="Whether the server and its table can be reached",
        response="HealthAnswer",
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
        path="/metrics",
        operation="metrics",
        group=Group.SYSTEM,
        summary="That the function is up, in the Prometheus text format",
        media_type="text/plain",
    ),
    Route(
        method="GET",
        path=f"{BASE}/metrics",
        operation="show_metrics",
        group=Group.OPERATOR,  # the only one that may count for those who read JSON
        home="system",
        summary="The same, and numbers as JSON for the official command line",
        media_type="text/plain",
    ),
)
