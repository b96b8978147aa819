"""Declares the operations on the event log."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.access import INSPECTS
from ojs_aws.transport.http.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        at=f"GET {BASE}/events",
        operation="list_events",
        group=Group.OPERATOR,
        access=INSPECTS,
        home="events.handlers",
        summary="Read the lifecycle events",
        query=(
            "types",
            "event_type",
            "queues",
            "queue",
            "job_types",
            "job_type",
            "job_id",
            "since",
            "event_limit",
            "cursor",
            "after",
            "page",
            "per_page",
        ),
    ),
)
