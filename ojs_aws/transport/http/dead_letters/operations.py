"""Declares the operations on dead letters."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    ADMINISTERS_JOB,
    ADMINISTERS_OWN,
    COUNTS_QUEUES,
    INSPECTS_JOB,
    INSPECTS_OWN,
    OPERATES_JOB,
    OPERATES_OWN,
)
from ojs_aws.transport.http.route import BASE, PAGED, Group, Route

_operator = functools.partial(
    Route, group=Group.OPERATOR, home="dead_letters.handlers", has_admin_path=True
)

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        at=f"GET {BASE}/dead-letter",
        operation="list_dead_letters",
        access=INSPECTS_OWN,
        summary="List the dead letters",
        query=(
            "queue",
            "type",
            "error_type",
            "since_time",
            "until",
            *PAGED,
        ),
    ),
    _operator(
        at=f"DELETE {BASE}/dead-letter",
        operation="delete_dead_letters",
        access=ADMINISTERS_OWN,
        summary="Remove many dead letters for good",
        request="BulkBody",
        is_body_optional=True,
    ),
    _operator(
        at=f"GET {BASE}/dead-letter/stats",
        operation="dead_letter_stats",
        access=COUNTS_QUEUES,
        summary="Count the dead letters by queue and by error",
    ),
    _operator(
        at=f"POST {BASE}/dead-letter/retry",
        operation="retry_dead_letters",
        access=OPERATES_OWN,
        summary="Enqueue many dead letters again",
        request="BulkBody",
        is_body_optional=True,
    ),
    _operator(
        at=f"POST {BASE}/dead-letter/delete",
        operation="purge_dead_letters",
        access=ADMINISTERS_OWN,
        summary="Remove many dead letters, for clients whose DELETE has no body",
        request="BulkBody",
        is_body_optional=True,
    ),
    _operator(
        at=f"GET {BASE}/dead-letter/<job_id>",
        operation="get_dead_letter",
        access=INSPECTS_JOB,
        summary="Read a dead letter with its whole history",
    ),
    _operator(
        at=f"POST {BASE}/dead-letter/<job_id>/retry",
        operation="retry_dead_letter",
        access=OPERATES_JOB,
        summary="Enqueue a discarded job again",
        request="RetryBody",
        is_body_optional=True,
        errors=(409,),
    ),
    _operator(
        at=f"DELETE {BASE}/dead-letter/<job_id>",
        operation="delete_dead_letter",
        is_recorded=True,
        access=ADMINISTERS_JOB,
        summary="Remove a discarded job for good",
        statuses=(200, 204),
        errors=(409,),
    ),
)
