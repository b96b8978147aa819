"""Implements ``ojs-aws workflows``: read and cancel workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.session import Session, command

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
    found: list[WorkflowStatus] = []
    cursor = ""
    while True:
        wanted = min(200, limit - len(found))
        page = await session.client.workflows.list(state=state, limit=wanted, cursor=cursor)
        found += page.workflows
        cursor = page.cursor
        if not cursor or len(found) >= limit:
            break
    session.out.table(
        {"workflows": [{**each.described} for each in found]},
        ("Id", "Name", "Type", "State", "Done", "Created"),
        [
            (
                each.id,
                each.name,
                each.type,
                each.state,
                _done(each),
                each.described.get("created_at"),
            )
            for each in found
        ],
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
    session.out.table(
        list(workflow.steps),
        ("Step", "Type", "State", "Job", "Job's state"),
        [
            (
                step.get("id", step.get("index")),
                step.get("type"),
                step.get("state"),
                step.get("job_id"),
                step.get("job_state"),
            )
            for step in workflow.steps
        ],
        title="\nSteps",
    )


@command(app, "cancel", epilog="Example: ojs-aws workflows cancel ID")
async def cancel_workflow(session: Session, workflow_id: WorkflowId) -> None:
    """Cancel a workflow; jobs that are executing may finish."""
    workflow = await session.client.workflows.cancel(workflow_id)
    session.out.said(f"{workflow.id} is {workflow.state}.", {**workflow.described})
