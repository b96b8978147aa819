"""Handles workflows (HTTP binding, section 14; ojs-workflows, section 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from ojs_aws.domain.envelope import names_tenant
from ojs_aws.domain.workflows.definition import read_definition
from ojs_aws.transport.http.authorization import bind_jobs, check_workflow
from ojs_aws.transport.http.calls import CREATED, OK, Answer, Call
from ojs_aws.transport.http.jobs.envelope import read_job
from ojs_aws.transport.http.queries import number_of, requested_page, text_of
from ojs_aws.transport.http.routes import BASE
from ojs_aws.transport.http.workflows.serializers import workflow_answer, workflows_answer

if TYPE_CHECKING:
    from ojs_aws.transport.http.workflows.models import WorkflowAnswer, WorkflowsAnswer


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
