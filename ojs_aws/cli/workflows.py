"""Implements ``ojs-aws workflows``: read and cancel workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.terminal.session import Session, command, listed

if TYPE_CHECKING:
    from ojs_aws.client.areas.workflows import WorkflowStatus

app = typer.Typer(name="workflows", no_args_is_help=True, help="Show and cancel workflows.")

WorkflowId = Annotated[str, typer.Argument(help="Id of the workflow.")]


@command(app, "list", epilog="Example: ojs-aws workflows list --state failed")
async def list_workflows(
    session: Session,
    state: Annotated[
        str, typer.Option("--state", "-s", help="running, completed, failed or cancelled.")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="How many workflows to show.")
    ] = 20,
) -> None:
    """List the workflows, newest first."""
    workflows = session.client.workflows
    found, _ = await listed(
        limit,
        lambda most, cursor: workflows.list(state=state, limit=most, cursor=cursor),
        lambda page: page.workflows,
    )
    session.out.items(
        {"workflows": [{**each.described} for each in found]},
        {
            "Id": "id",
            "Name": "name",
            "Type": "type",
            "State": "state",
            "Done": _done,
            "Created": lambda each: each.described.get("created_at"),
        },
        found,
        nothing="No such workflows.",
    )


def _done(workflow: WorkflowStatus) -> str:
    for kind in ("steps", "jobs"):
        total = workflow.described.get(f"{kind}_total")
        if total is not None:
            return f"{workflow.described.get(f'{kind}_completed')}/{total}"
    return ""


@command(app, "show", epilog="Example: ojs-aws workflows show 019539a4-b68c-7def-8000-1a2b3c4d5e6f")
async def show_workflow(session: Session, workflow_id: WorkflowId) -> None:
    """Show a workflow with its steps."""
    workflow = await session.client.workflows.get(workflow_id)
    if session.out.as_json:
        session.out.json({**workflow.described})
        return
    session.out.fields(
        workflow.described,
        [
            ("id", workflow.id),
            ("name", workflow.name),
            ("type", workflow.type),
            ("state", workflow.state),
            *workflow.metadata.items(),
        ],
    )
    session.out.items(
        list(workflow.steps),
        {
            "Step": lambda step: step.get("id", step.get("index")),
            "Type": "type",
            "State": "state",
            "Job": "job_id",
            "Job's state": "job_state",
        },
        workflow.steps,
        title="\nSteps",
    )


@command(app, "cancel", epilog="Example: ojs-aws workflows cancel ID")
async def cancel_workflow(session: Session, workflow_id: WorkflowId) -> None:
    """Cancel a workflow; jobs that are executing may finish."""
    workflow = await session.client.workflows.cancel(workflow_id)
    session.out.said(f"{workflow.id} is {workflow.state}.", {**workflow.described})
