"""Declares the operations on workflows."""

from __future__ import annotations

import functools
from typing import Final

from ojs_aws.transport.http.route import CANCELS_OWN, ENQUEUES, INSPECTS_OWN, PAGED, Group, Route

_producer = functools.partial(Route, group=Group.PRODUCER, module="workflows.handlers")

# fmt: off
ROUTES: Final[tuple[Route, ...]] = (
    _producer("POST /workflows", "create_workflow", ENQUEUES,
        "Create and start a workflow", request="WorkflowBody", statuses=(201, 200),
        errors=(404, 409), repeatable=True),
    Route("GET /workflows", "list_workflows", INSPECTS_OWN,
        "List the workflows, the newest first", group=Group.OPERATOR, module="workflows.handlers",
        query=(*PAGED, "state")),
    _producer("GET /workflows/<workflow_id>", "get_workflow", INSPECTS_OWN,
        "Read a workflow and its steps", query=("step_limit", "step_offset")),
    _producer("DELETE /workflows/<workflow_id>", "cancel_workflow", CANCELS_OWN,
        "Cancel a workflow; active jobs may finish", errors=(409,), repeatable=True),
)
