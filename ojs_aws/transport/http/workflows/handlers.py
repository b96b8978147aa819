"""Handles workflows, and declares the answers (HTTP binding, section 14; ojs-workflows, 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NotRequired, Required, TypeAlias, cast
from urllib.parse import quote

from typing_extensions import TypedDict

from ojs_aws.domain.envelope import names_tenant
from ojs_aws.domain.timestamps import format_instant
from ojs_aws.domain.workflows.definition import read_definition
from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import Workflow as WorkflowRecord
from ojs_aws.domain.workflows.workflow import WorkflowState
from ojs_aws.services.workflows.service import FIRST_STEPS
from ojs_aws.transport.http.answers import JobId, Pagination, Timestamp
from ojs_aws.transport.http.authorization import bind_jobs, check_workflow
from ojs_aws.transport.http.calls import CREATED, OK, Answer, Call, JsonOf, json_of
from ojs_aws.transport.http.jobs.envelope import read_job
from ojs_aws.transport.http.jobs.serializers import FLAT_LIMIT
from ojs_aws.transport.http.queries import number_of, requested_page, text_of
from ojs_aws.transport.http.routes import BASE
from ojs_aws.transport.http.workflows.steps import Parts, StepsOf

if TYPE_CHECKING:
    from ojs_aws.services.workflows.service import WorkflowView

MAX_FAILED_IDS: Final = 1000
WorkflowKind: TypeAlias = Literal["chain", "group", "batch", "dag"]


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


def create_workflow(call: Call) -> Answer[WorkflowAnswer]:
    """Create and start a workflow: 201, or 200 if the same request made it before."""
    max_depth = call.backend.settings.max_depth
    definition = read_definition(call.members(), lambda members: read_job(members, max_depth))
    steps = [(f"{definition.paths[at]}.", job) for at, job in definition.jobs.items()]
    bind_jobs(call, steps)
    if any(names_tenant(job) for _, job in steps):
        from ojs_aws.transport.http.tenants.isolation import join_tenants  # few workflows have one

        join_tenants(steps)
    created = call.backend.workflows.service.create(definition)
    location = f"{BASE}/workflows/{quote(created.view.workflow.id)}"
    status = CREATED if created.is_new else OK
    return Answer(workflow_answer(created.view), status, {"Location": location})


def get_workflow(call: Call) -> Answer[WorkflowAnswer]:
    """Return a workflow with the states of its steps: the first ones, or those asked for."""
    workflow_id = call.named("workflow_id")
    first = number_of(call.request.query, "step_offset") + 1
    shown = range(first, first + number_of(call.request.query, "step_limit"))
    check_workflow(call, workflow_id)
    view = call.backend.workflows.service.get(workflow_id, shown)
    return Answer(workflow_answer(view, shown))


def cancel_workflow(call: Call) -> Answer[WorkflowAnswer]:
    """Cancel a workflow."""
    workflow_id = call.named("workflow_id")
    check_workflow(call, workflow_id)
    view = call.backend.workflows.service.cancel(workflow_id, call.actor)
    return Answer(workflow_answer(view, is_cancelled=True))


def list_workflows(call: Call) -> Answer[WorkflowsAnswer]:
    """Return the workflows without their steps, newest first; those whose jobs the caller sees."""
    query = call.request.query
    wanted = requested_page(query)
    page = call.backend.workflows.service.list(
        text_of(query, "state"),
        wanted.limit,
        wanted.cursor,
        skip=wanted.offset,
        view=call.request.caller.view,
    )
    total = wanted.total(len(page.workflows), page.cursor, is_followed=page.is_followed)
    pagination = wanted.pagination(total, page.cursor)
    return Answer(workflows_answer(page.workflows, pagination))


def workflow_answer(
    view: WorkflowView, shown: range = FIRST_STEPS, *, is_cancelled: bool = False
) -> WorkflowAnswer:
    """Return one workflow with its steps, wrapped and flat.

    :param shown: which steps; the answer says so if there are others.
    :param is_cancelled: show what the cancellation found, too.
    """
    cancelled: CancelledSteps = _cancelled(view.workflow) if is_cancelled else {}
    workflow: Workflow = {
        **render_summary(view.workflow, _metadata(view)),
        **StepsOf(view, shown).of(ROOT),
        **_others(view.graph, shown),
        **cancelled,
    }
    wrapped = json_of(workflow)
    if len(wrapped) > FLAT_LIMIT:
        return {"workflow": wrapped, "id": workflow["id"], "state": workflow["state"]}
    return cast("WorkflowAnswer", {"workflow": wrapped, **workflow})


def workflows_answer(items: Sequence[WorkflowRecord], pagination: Pagination) -> WorkflowsAnswer:
    """Return a page of workflows."""
    listed = json_of([render_summary(each, _counted(each)) for each in items])
    return {
        "workflows": listed,
        "items": listed,
        "pagination": pagination,
        "total": pagination["total"],
    }


def render_summary(workflow: WorkflowRecord, metadata: WorkflowMetadata) -> WorkflowSummary:
    """Return how a workflow describes itself, without its steps."""
    return {
        "id": workflow.id,
        "type": cast("WorkflowKind", workflow.kind),
        "name": workflow.name,
        "state": workflow.state,
        "steps_total": workflow.steps_total,
        "steps_completed": workflow.steps_completed,
        "step_count": workflow.steps_total,
        "jobs_total": workflow.steps_total,
        "jobs_completed": workflow.steps_completed,
        **_instants(workflow),
        "metadata": metadata,
    }


def _others(graph: Graph, shown: range) -> ShownSteps:
    """Return which steps of all are shown; nothing if that are all."""
    total = len(graph.steps) - 1
    if shown.start == 1 and total < shown.stop:
        return {}
    limit, offset = len(shown), shown.start - 1
    return {
        "pagination": {
            "total": total,
            "total_is": "exact",
            "total_is_exact": True,
            "limit": limit,
            "offset": offset,
            "has_more": shown.stop <= total,
        }
    }


def _cancelled(workflow: WorkflowRecord) -> CancelledSteps:
    """Return what a cancellation says of the steps (HTTP binding, section 14.3)."""
    return {
        "steps_cancelled": workflow.cancelled_count,
        "cancelled_steps": workflow.cancelled_count,
        "steps_already_completed": workflow.completed_count,
    }


def _instants(workflow: WorkflowRecord) -> WorkflowInstants:
    instants: WorkflowInstants = {"created_at": format_instant(workflow.created_at)}
    if workflow.started_at is not None:
        instants["started_at"] = format_instant(workflow.started_at)
    if workflow.completed_at is not None:
        instants["completed_at"] = format_instant(workflow.completed_at)
    if workflow.cancelled_at is not None:
        instants["cancelled_at"] = format_instant(workflow.cancelled_at)
    return instants


def _counted(workflow: WorkflowRecord) -> WorkflowMetadata:
    return cast(
        "WorkflowMetadata",
        {
            **_instants(workflow),
            "job_count": workflow.job_count,
            "completed_count": workflow.completed_count,
            "failed_count": workflow.failed_count,
            "cancelled_count": workflow.cancelled_count,
        },
    )


def _metadata(view: WorkflowView) -> WorkflowMetadata:
    """Return times, counters, and what went wrong (ojs-workflows, sections 3.3, 9.5 and 9.6)."""
    workflow, graph = view.workflow, view.graph
    metadata = _counted(workflow)
    if workflow.cancelled_at is not None:  # terminal, as section 3.3 has it
        metadata["completed_at"] = format_instant(workflow.cancelled_at)
    known = {each.index for each in workflow.failures}
    failed = [i for i in graph.jobs if workflow.states[i] == StepState.FAILED or i in known]
    if not failed:
        return metadata
    if graph.kind is Kind.CHAIN:
        ended_badly = (StepState.FAILED, StepState.CANCELLED)
        first = (i for i in graph.members if workflow.states[i] in ended_badly)
        if workflow.state is WorkflowState.FAILED:
            metadata["failed_step_index"] = int(graph.steps[next(first)].key)
    metadata["failed_job_ids"] = [workflow.job_id(index) for index in failed[:MAX_FAILED_IDS]]
    metadata["errors"] = [
        cast("WorkflowError", {**each.as_dict(), "step_id": graph.path(each.index)})
        for each in workflow.failures
    ]
    if workflow.failed_callback:
        metadata["failed_callback"] = workflow.failed_callback
    return metadata
