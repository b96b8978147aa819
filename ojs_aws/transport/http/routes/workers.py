"""Workers, and what they are told to do."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.routes.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path=f"{BASE}/admin/workers",
        operation="list_workers",
        group=Group.OPERATOR,
        home="workers",
        summary="List the workers that beat",
        response="WorkersAnswer",
        query=("limit", "cursor", "offset", "page", "per_page"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/workers/<worker_id>",
        operation="get_worker",
        group=Group.OPERATOR,
        home="workers",
        summary="Read a worker",
        response="WorkerAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/admin/workers/<worker_id>",
        operation="deregister_worker",
        group=Group.OPERATOR,
        home="workers",
        summary="Remove a worker that missed its heartbeats",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/<worker_id>/quiet",
        operation="quiet_worker",
        group=Group.OPERATOR,
        home="workers",
        summary="Let a worker fetch no more, with its next heartbeat",
        response="WorkerAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/<worker_id>/terminate",
        operation="terminate_worker",
        group=Group.OPERATOR,
        home="workers",
        summary="Let a worker end within its grace period, with its next heartbeat",
        response="WorkerAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/<worker_id>/resume",
        operation="resume_worker",
        group=Group.OPERATOR,
        home="workers",
        summary="Let a worker fetch again, with its next heartbeat",
        response="WorkerAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/quiet",
        operation="quiet_workers",
        group=Group.OPERATOR,
        home="workers",
        summary="Quiet the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        response="DirectedAnswer",
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/terminate",
        operation="terminate_workers",
        group=Group.OPERATOR,
        home="workers",
        summary="Terminate the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        response="DirectedAnswer",
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/workers/resume",
        operation="resume_workers",
        group=Group.OPERATOR,
        home="workers",
        summary="Resume the workers of a queue, with a label, or all of them",
        request="SelectionBody",
        response="DirectedAnswer",
    ),
)
