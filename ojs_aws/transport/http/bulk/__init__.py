"""Declares operations on many jobs in one request, with a result for each."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    ADMINISTERS_OWN,
    CANCELS_OWN,
    ENQUEUES,
    OPERATES_OWN,
    Group,
    Route,
)

_operator = functools.partial(Route, group=Group.OPERATOR, module="bulk.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    Route("POST /jobs/bulk", "bulk_enqueue", ENQUEUES,
        "Enqueue many jobs, each by itself, or all or none", group=Group.PRODUCER,
        module="bulk.handlers", request="BulkEnqueueBody",
        events="application/cloudevents-batch+json", statuses=(201, 207), errors=(404, 409)),
    _operator("POST /jobs/bulk/cancel", "bulk_cancel", CANCELS_OWN,
        "Cancel many jobs that are not active", request="BulkChangeBody", statuses=(200, 207),
        errors=(409,)),
    _operator("POST /jobs/bulk/retry", "bulk_retry", OPERATES_OWN,
        "Make many discarded or retryable jobs available", request="BulkChangeBody",
        statuses=(200, 207), errors=(409,)),
    _operator("POST /jobs/bulk/delete", "bulk_delete", ADMINISTERS_OWN,
        "Delete many jobs that have ended, for good", request="BulkChangeBody", statuses=(200, 207),
        errors=(409,)),
)
