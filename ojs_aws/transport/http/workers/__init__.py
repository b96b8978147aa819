"""Declares the operations on workers, as operators see them."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import (
    ADMINISTERS,
    COUNTS_QUEUES,
    INSPECTS,
    OPERATES,
    PAGED,
    WORKS,
    Group,
    Route,
)

_operator = functools.partial(Route, group=Group.OPERATOR, module="workers.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    Route("GET /workers/<worker_id>/health", "get_worker_health", WORKS,
        "Answer 200 if a worker takes jobs, or 503 while it drains", group=Group.WORKER_API,
        module="workers.handlers"),
    _operator("GET /admin/workers", "list_workers", COUNTS_QUEUES,
        "List the workers that send heartbeats", query=PAGED),
    _operator("GET /admin/workers/<worker_id>", "get_worker", COUNTS_QUEUES, "Read a worker"),
    _operator("DELETE /admin/workers/<worker_id>", "deregister_worker", OPERATES,
        "Remove a worker that missed its heartbeats", errors=(409,), is_recorded=True),
    _operator("POST /admin/workers/<worker_id>/quiet", "quiet_worker", OPERATES,
        "Ask a worker, with its next heartbeat, to fetch no more jobs", errors=(409,),
        repeatable=True),
    _operator("POST /admin/workers/<worker_id>/terminate", "terminate_worker", OPERATES,
        "Ask a worker, with its next heartbeat, to end within its grace period", errors=(409,),
        repeatable=True),
    _operator("POST /admin/workers/<worker_id>/resume", "resume_worker", OPERATES,
        "Ask a worker, with its next heartbeat, to fetch again", errors=(409,), repeatable=True),
    _operator("POST /admin/workers/quiet", "quiet_workers", OPERATES,
        "Quiet the workers of a queue, with a label, or all of them", request="SelectionBody",
        is_body_optional=True, repeatable=True),
    _operator("POST /admin/workers/terminate", "terminate_workers", OPERATES,
        "Terminate the workers of a queue, with a label, or all of them", request="SelectionBody",
        is_body_optional=True, repeatable=True),
    _operator("POST /admin/workers/resume", "resume_workers", OPERATES,
        "Resume the workers of a queue, with a label, or all of them", request="SelectionBody",
        is_body_optional=True, repeatable=True),
    _operator("GET /admin/pools", "list_pools", INSPECTS, "List the worker pools"),
    _operator("GET /admin/pools/<name>", "get_pool", INSPECTS, "Read a worker pool"),
    _operator("PUT /admin/pools/<name>", "put_pool", ADMINISTERS,
        "Create or replace a worker pool: its queues, and in which order they are fetched from",
        request="PoolBody", statuses=(200, 201), errors=(409, 422), is_recorded=True),
    _operator("DELETE /admin/pools/<name>", "delete_pool", ADMINISTERS,
        "Delete a worker pool", repeatable=True, is_recorded=True),
)
