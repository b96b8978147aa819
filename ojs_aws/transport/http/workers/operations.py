"""Declares the operations on workers."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import COUNTS_QUEUES, OPERATES, WORKS
from ojs_aws.transport.http.route import BASE, PAGED, Group, Route

_operator = functools.partial(Route, group=Group.OPERATOR, home="workers.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        at=f"GET {BASE}/workers/<worker_id>/health",
        operation="get_worker_health",
        group=Group.WORKER_API,
        access=WORKS,
        home="workers.handlers",
        summary="Answer 200 if a worker takes jobs, or 503 while it drains",
    ),
    _operator(
        at=f"GET {BASE}/admin/workers",
        operation="list_workers",
        access=COUNTS_QUEUES,
        summary="List the workers that send heartbeats",
        query=PAGED,
    ),
    _operator(
        at=f"GET {BASE}/admin/workers/<worker_id>",
        operation="get_worker",
        access=COUNTS_QUEUES,
        summary="Read a worker",
    ),
    _operator(
        at=f"DELETE {BASE}/admin/workers/<worker_id>",
        operation="deregister_worker",
        is_recorded=True,
        access=OPERATES,
        summary="Remove a worker that missed its heartbeats",
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/admin/workers/<worker_id>/quiet",
        operation="quiet_worker",
        access=OPERATES,
        repeatable=True,
        summary="Ask a worker, with its next heartbeat, to fetch no more jobs",
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/admin/workers/<worker_id>/terminate",
        operation="terminate_worker",
        access=OPERATES,
        repeatable=True,
        summary="Ask a worker, with its next heartbeat, to end within its grace period",
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/admin/workers/<worker_id>/resume",
        operation="resume_worker",
        access=OPERATES,
        repeatable=True,
        summary="Ask a worker, with its next heartbeat, to fetch again",
        errors=(409,),
    ),
    _operator(
        at=f"POST {BASE}/admin/workers/quiet",
        operation="quiet_workers",
        access=OPERATES,
        repeatable=True,
        summary="Quiet the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        is_body_optional=True,
    ),
    _operator(
        at=f"POST {BASE}/admin/workers/terminate",
        operation="terminate_workers",
        access=OPERATES,
        repeatable=True,
        summary="Terminate the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        is_body_optional=True,
    ),
    _operator(
        at=f"POST {BASE}/admin/workers/resume",
        operation="resume_workers",
        access=OPERATES,
        repeatable=True,
        summary="Resume the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        is_body_optional=True,
    ),
)
