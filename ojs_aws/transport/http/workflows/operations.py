"""Declares the operations on workflows."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.access import CANCELS, ENQUEUES, INSPECTS
from ojs_aws.transport.http.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="POST",
        path=f"{BASE}/workflows",
        operation="create_workflow",
        group=Group.PRODUCER,
        access=ENQUEUES,
        home="workflows.handlers",
        repeatable=True,
        summary="Create and start a workflow",
        request="WorkflowBody",
        response="WorkflowAnswer",
        statuses=(201, 200),
        errors=(409, 413, 422),
        needs_body=True,
    ),
    Route(
        method="GET",
        path=f"{BASE}/workflows",
        operation="list_workflows",
        group=Group.OPERATOR,
        access=INSPECTS,
        home="workflows.handlers",
        summary="List the workflows, the newest first",
        response="WorkflowsAnswer",
        query=("limit", "cursor", "offset", "page", "per_page", "state"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/workflows/<workflow_id>",
        operation="get_workflow",
        group=Group.PRODUCER,
        access=INSPECTS,
        home="workflows.handlers",
        summary="Read a workflow and its steps",
        response="WorkflowAnswer",
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path=f"{BASE}/workflows/<workflow_id>",
        operation="cancel_workflow",
        group=Group.PRODUCER,
        access=CANCELS,
        home="workflows.handlers",
        repeatable=True,
        summary="Cancel a workflow; jobs that are executed may end",
        response="WorkflowAnswer",
        errors=(404, 409),
    ),
)
