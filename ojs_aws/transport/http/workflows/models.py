"""Declares the requests and answers about workflows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.domain.workflows.definition import ID_PATTERN as WORKFLOW_ID_PATTERN
from ojs_aws.domain.workflows.dependencies import MAX_NAME as MAX_STEP_NAME
from ojs_aws.domain.workflows.workflow import WorkflowState
from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.jobs.requests import OptionsBody
from ojs_aws.transport.http.models import Body, JobId, JsonObject, Pagination, Timestamp


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


WorkflowKind: TypeAlias = Literal["chain", "group", "batch", "dag"]


class Parts(TypedDict, total=False):
    """Holds the steps of a workflow, under the names that its kind has."""

    steps: JsonOf[list[Step]]
    jobs: JsonOf[list[Step]]
    callbacks: dict[str, Step]


class Step(Parts, total=False):
    """Shows a step: a job, or a workflow within a workflow."""

    id: str
    name: str
    index: int
    type: Required[str]
    state: Required[str]
    job_id: Required[str | None]
    job_state: JobState
    depends_on: list[str]
    started_at: Timestamp
    completed_at: Timestamp
    args: JsonOf[list[Any]]
    result: JsonOf[Any]
    error: JsonOf[JsonObject]


class WorkflowInstants(TypedDict):
    """Says when a workflow entered its states."""

    created_at: Timestamp
    started_at: NotRequired[Timestamp]
    completed_at: NotRequired[Timestamp]
    cancelled_at: NotRequired[Timestamp]


class WorkflowError(TypedDict):
    """Says why a step did not complete."""

    job_id: str
    code: str
    message: str
    attempt: int
    step_id: str


class WorkflowMetadata(WorkflowInstants):
    """Counts the jobs of a workflow, and says what went wrong."""

    job_count: int
    completed_count: int
    failed_count: int
    cancelled_count: int
    failed_step_index: NotRequired[int]
    failed_job_ids: NotRequired[list[JobId]]
    errors: NotRequired[list[WorkflowError]]
    failed_callback: NotRequired[str]


class WorkflowSummary(WorkflowInstants):
    """Shows a workflow without its steps."""

    id: str
    type: WorkflowKind
    name: str
    state: WorkflowState
    steps_total: int
    steps_completed: int
    step_count: int
    jobs_total: int
    jobs_completed: int
    metadata: WorkflowMetadata


class CancelledSteps(TypedDict, total=False):
    """Says what a cancellation found."""

    steps_cancelled: int
    cancelled_steps: int
    steps_already_completed: int


class ShownSteps(TypedDict, total=False):
    """Says which steps are shown where these are not all, at any depth and in their order."""

    pagination: Pagination


class Workflow(WorkflowSummary, Parts, ShownSteps, CancelledSteps):
    """Shows a workflow with its steps."""


class WorkflowAnswer(TypedDict, total=False):
    """Shows a workflow in a wrapper, and flat unless it is very large."""

    workflow: Required[JsonOf[Workflow]]
    id: Required[str]
    state: Required[WorkflowState]


class WorkflowsAnswer(TypedDict):
    """Shows a page of workflows."""

    workflows: JsonOf[list[WorkflowSummary]]
    items: JsonOf[list[WorkflowSummary]]
    pagination: Pagination
    total: int
