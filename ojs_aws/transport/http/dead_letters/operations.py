"""Declares the operations on dead letters."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import (
    ADMINISTERS,
    INSPECTS,
    INSPECTS_JOB,
    INSPECTS_QUERIED,
    OPERATES,
    OPERATES_JOB,
)
from ojs_aws.transport.http.route import BASE, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="dead_letters.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _operator(
        method="GET",
        path=f"{BASE}/dead-letter",
        aliases=(f"{BASE}/admin/dead-letter",),
        operation="list_dead_letters",
        access=INSPECTS_QUERIED,
        summary="List the dead letters",
        query=(
            "queue",
            "type",
            "error_type",
            "since_time",
            "until",
            "limit",
            "cursor",
            "offset",
            "page",
            "per_page",
        ),
    ),
    _operator(
        method="DELETE",
        path=f"{BASE}/dead-letter",
        aliases=(f"{BASE}/admin/dead-letter",),
        operation="delete_dead_letters",
        access=ADMINISTERS,
        summary="Remove many dead letters for good",
        request="BulkBody",
    ),
    _operator(
        method="GET",
        path=f"{BASE}/dead-letter/stats",
        aliases=(f"{BASE}/admin/dead-letter/stats",),
        operation="dead_letter_stats",
        access=INSPECTS,
        summary="Count the dead letters by queue and by error",
    ),
    _operator(
        method="POST",
        path=f"{BASE}/dead-letter/retry",
        aliases=(f"{BASE}/admin/dead-letter/retry",),
        operation="retry_dead_letters",
        access=OPERATES,
        summary="Enqueue many dead letters again",
        request="BulkBody",
    ),
    _operator(
        method="POST",
        path=f"{BASE}/dead-letter/delete",
        aliases=(f"{BASE}/admin/dead-letter/delete",),
        operation="purge_dead_letters",
        access=ADMINISTERS,
        summary="Remove many dead letters, for clients whose DELETE has no body",
        request="BulkBody",
    ),
    _operator(
        method="GET",
        path=f"{BASE}/dead-letter/<job_id>",
        aliases=(f"{BASE}/admin/dead-letter/<job_id>",),
        operation="get_dead_letter",
        access=INSPECTS_JOB,
        summary="Read a dead letter with its whole history",
        errors=(404,),
    ),
    _operator(
        method="POST",
        path=f"{BASE}/dead-letter/<job_id>/retry",
        aliases=(f"{BASE}/admin/dead-letter/<job_id>/retry",),
        operation="retry_dead_letter",
        access=OPERATES_JOB,
        summary="Enqueue a discarded job again",
        request="RetryBody",
        errors=(404, 409, 413),
    ),
    _operator(
        method="DELETE",
        path=f"{BASE}/dead-letter/<job_id>",
        aliases=(f"{BASE}/admin/dead-letter/<job_id>",),
        operation="delete_dead_letter",
        access=ADMINISTERS,
        summary="Remove a discarded job for good",
        statuses=(200, 204),
        errors=(404, 409),
    ),
)
