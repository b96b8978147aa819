"""Implements ``ojs-aws bindings``: what runs which job types of a queue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.terminal.session import Session, command
from ojs_aws.domain.timestamps import parse_duration

if TYPE_CHECKING:
    from ojs_aws.client.areas.entries import BindingEntry
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="bindings",
    no_args_is_help=True,
    help="Show, set, suspend and resume bindings: what runs the jobs of queues.",
)

Queue = Annotated[str, typer.Argument(help="Name of the queue.")]
Name = Annotated[str, typer.Argument(help="Name of the binding, as the stack has it.")]


@command(app, "list", epilog="Example: ojs-aws bindings list email")
async def list_bindings(session: Session, queue: Queue) -> None:
    """List the bindings that a queue has, or may have."""
    found = await session.client.queues.bindings(queue)
    session.out.items(
        {"bindings": [{**each.described} for each in found]},
        {
            "Name": "name",
            "Kind": "kind",
            "State": "state",
            "Job types": types_text,
            "Endpoint": "endpoint",
            "Config": config_text,
            "Reason": "reason",
        },
        found,
        nothing="The stack allows this queue no bindings.",
    )


def types_text(binding: BindingEntry) -> str:
    """Return the job types of a binding."""
    return ", ".join(binding.job_types) or "none"


def config_text(binding: BindingEntry) -> str:
    """Return the config of a binding as JSON; empty for none."""
    return json.dumps({**binding.config}) if binding.config else ""


@command(app, "show", epilog="Example: ojs-aws bindings show email mailer")
async def show_binding(session: Session, queue: Queue, name: Name) -> None:
    """Show a binding of a queue."""
    binding = await session.client.queues.binding(queue, name)
    session.out.fields(binding.described, hidden={"binding"})


@command(app, "set", epilog="Example: ojs-aws bindings set email mailer email.send 'news.*'")
async def set_binding(
    session: Session,
    queue: Queue,
    name: Name,
    job_types: Annotated[
        list[str], typer.Argument(help="Job types: email.send, email.*, or * for all.")
    ],
    endpoint: Annotated[
        str | None,
        typer.Option(help="URL that gets the jobs, below a prefix that the stack allows."),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(help="How long the target has for a job: 30s, 10m.")
    ] = None,
    no_retry: Annotated[
        list[str] | None,
        typer.Option(help="Error after which no retry helps, such as exit.3; may be repeated."),
    ] = None,
    max_concurrency: Annotated[
        int | None, typer.Option(min=1, help="Jobs that are active at the target at a time.")
    ] = None,
) -> None:
    """Register the job types that a function, an endpoint or a task of the stack runs.

    They, and the options, replace what was registered before.
    """
    config: dict[str, JsonValue] = {}
    if timeout is not None:
        config["timeout_ms"] = parse_duration(timeout, "timeout")
    if max_concurrency is not None:
        config["max_concurrency"] = max_concurrency
    if no_retry:
        config["retry"] = {"non_retryable_errors": [*no_retry]}
    binding = await session.client.queues.set_binding(
        queue, name, job_types, endpoint=endpoint, config=config or None
    )
    text = f"The binding {name} runs {types_text(binding)} of the queue {queue}."
    session.out.said(text, {**binding.described})


@command(app, "delete", epilog="Example: ojs-aws bindings delete email mailer")
async def delete_binding(session: Session, queue: Queue, name: Name) -> None:
    """Forget what was registered for a binding: what the stack says holds again."""
    binding = await session.client.queues.delete_binding(queue, name)
    text = f"The binding {name} runs what the stack says: {types_text(binding)}."
    session.out.said(text, {**binding.described})


@command(app, "suspend", epilog="Example: ojs-aws bindings suspend email mailer")
async def suspend_binding(session: Session, queue: Queue, name: Name) -> None:
    """Suspend a binding: its jobs wait until it is resumed."""
    binding = await session.client.queues.suspend_binding(queue, name)
    session.out.said(f"The binding {name} is suspended.", {**binding.described})


@command(app, "resume", epilog="Example: ojs-aws bindings resume email mailer")
async def resume_binding(session: Session, queue: Queue, name: Name) -> None:
    """Resume a binding: new jobs are dispatched at once, those that waited within minutes."""
    binding = await session.client.queues.resume_binding(queue, name)
    session.out.said(f"The binding {name} is active.", {**binding.described})
