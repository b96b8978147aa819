"""Many jobs in one request, with a result for each."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.routes.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="POST",
        path=f"{BASE}/jobs/bulk",
        operation="bulk_enqueue",
        group=Group.PRODUCER,
        home="bulk",
        summary="Enqueue many jobs, each by itself, or all or none",
        request="BulkEnqueueBody",
        statuses=(201, 207),
        errors=(409, 413, 422),
        needs_body=True,
    ),
    *(
        Route(
            method="POST",
            path=f"{BASE}/jobs/bulk/{action}",
            operation=f"bulk_{action}",
            group=Group.OPERATOR,
            home="bulk",
            summary=summary,
            request="BulkChangeBody",
            statuses=(200, 207),
            errors=(409, 413, 422),
            needs_body=True,
        )
        for action, summary in (
            ("cancel", "Cancel many jobs that nobody executes"),
            ("retry", "Make many discarded or retryable jobs available"),
            ("delete", "Delete many jobs that have ended, for good"),
        )
    ),
)
