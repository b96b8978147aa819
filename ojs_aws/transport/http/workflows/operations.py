"""Declares the operations on workflows."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.access import CANCELS_OWN, ENQUEUES, INSPECTS_OWN
from ojs_aws.transport.http.route import BASE, PAGED, Group, Route

_producer = functools.partial(Route, group=Group.PRODUCER, home="workflows.handlers")

ROUTES: Final[tuple[Route, ...]] = (
    _producer(
        at=f"POST {BASE}/workflows",
        operation="create_workflow",
        access=ENQUEUES,
        repeatable=True,
        summary="Create and start a workflow",
        request="WorkflowBody",
        statuses=(201, 200),
        errors=(404, 409),
    ),
    Route(
        at=f"GET {BASE}/workflows",
        operation="list_workflows",
        group=Group.OPERATOR,
        access=INSPECTS_OWN,
        home="workflows.handlers",
        summary="List the workflows, the newest first",
        query=(*PAGED, "state"),
    ),
    _producer(
        at=f"GET {BASE}/workflows/<workflow_id>",
        operation="get_workflow",
        access=INSPECTS_OWN,
        summary="Read a workflow and its steps",
        query=("step_limit", "step_offset"),
    ),
    _producer(
        at=f"DELETE {BASE}/workflows/<workflow_id>",
        operation="cancel_workflow",
        access=CANCELS_OWN,
        repeatable=True,
        summary="Cancel a workflow; active jobs may finish",
        errors=(409,),
    ),
)
