"""Declares the bodies of workflows and their steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ojs_aws.domain.workflows.definition import ID_PATTERN as WORKFLOW_ID_PATTERN
from ojs_aws.domain.workflows.dependencies import MAX_NAME as MAX_STEP_NAME
from ojs_aws.transport.http.bodies import Body
from ojs_aws.transport.http.jobs.bodies import OptionsBody


class WorkflowParts(Body):
    """Holds what a workflow and a step that is a workflow may have."""

    name: Annotated[str, Field(max_length=MAX_STEP_NAME)] | None = None
    steps: list[StepBody] | None = None
    jobs: list[StepBody] | None = None
    callbacks: dict[Literal["on_complete", "on_success", "on_failure"], StepBody] | None = None
    options: OptionsBody | None = None


class StepBody(WorkflowParts):
    """A step: a job as PUSH takes it, or a workflow (then with ``steps`` or ``jobs``)."""

    type: str | None = None
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    id: Annotated[str, Field(max_length=MAX_STEP_NAME)] | None = None
    depends_on: list[str] | None = None


class WorkflowBody(WorkflowParts):
    """A workflow: chain, group or batch (ojs-workflows), or steps with ``depends_on``."""

    type: Literal["chain", "group", "batch", "dag", "workflow"] | None = None
    id: Annotated[str, Field(pattern=f"^{WORKFLOW_ID_PATTERN}$")] | None = None
