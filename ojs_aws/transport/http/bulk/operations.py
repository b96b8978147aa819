"""Declares operations on many jobs in one request, with a result for each."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    ADMINISTERS_OWN,
    CANCELS_OWN,
    ENQUEUES,
    OPERATES_OWN,
)
from ojs_aws.transport.http.route import BASE, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="bulk.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        at=f"POST {BASE}/jobs/bulk",
        operation="bulk_enqueue",
        group=Group.PRODUCER,
        access=ENQUEUES,
        home="bulk.handlers",
        summary="Enqueue many jobs, each by itself, or all or none",
        request="BulkEnqueueBody",
        statuses=(201, 207),
        errors=(404, 409),
    ),
    _operator(
        at=f"POST {BASE}/jobs/bulk/cancel",
        operation="bulk_cancel",
        access=CANCELS_OWN,
        summary="Cancel many jobs that are not active",
        request="BulkChangeBody",
        statuses=(200, 207),
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/jobs/bulk/retry",
        operation="bulk_retry",
        access=OPERATES_OWN,
        summary="Make many discarded or retryable jobs available",
        request="BulkChangeBody",
        statuses=(200, 207),
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/jobs/bulk/delete",
        operation="bulk_delete",
        access=ADMINISTERS_OWN,
        summary="Delete many jobs that have ended, for good",
        request="BulkChangeBody",
        statuses=(200, 207),
        errors=(409,),
    ),
)
