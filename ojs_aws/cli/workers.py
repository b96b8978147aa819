"""Implements ``ojs-aws workers``: which workers live, and their directives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.options import when_text
from ojs_aws.cli.session import Session, command, misuse, pages

if TYPE_CHECKING:
    from ojs_aws.client.areas.workers import DirectedWorkers, WorkerEntry
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="workers", no_args_is_help=True, help="List, quiet, terminate and resume workers."
)

WorkerId = Annotated[str, typer.Argument(help="Id of the worker.")]


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects the workers that a directive is for."""

    worker_id: Annotated[
        str, typer.Argument(help="Id of one worker; leave out to use an option.")
    ] = ""
    queue: Annotated[str, typer.Option("--queue", "-q", help="Workers that serve this queue.")] = ""
    label: Annotated[str, typer.Option("--label", "-l", help="Workers with this label.")] = ""
    every: Annotated[bool, typer.Option("--all", help="All workers that are registered now.")] = (
        False
    )


@command(app, "list", epilog="Example: ojs-aws workers list")
async def list_workers(session: Session) -> None:
    """List the workers that sent a heartbeat within the last hour."""
    workers: list[WorkerEntry] = []
    summary: dict[str, JsonValue] = {}
    async for page in pages(lambda cursor: session.client.workers.list(limit=200, cursor=cursor)):
        workers += page.workers
        summary = {**page.summary}
    session.out.items(
        {"workers": [{**each.described} for each in workers], "summary": summary},
        {
            "Id": "id",
            "State": "state",
            "Directive": "directive",
            "Jobs": "active_jobs",
            "Queues": lambda each: ", ".join(each.queues),
            "Labels": lambda each: ", ".join(each.labels),
            "Host": "hostname",
            "Heartbeat": lambda each: when_text(each.last_heartbeat_at),
        },
        workers,
        least=("Labels", "Host", "Directive"),
        nothing="No worker sent a heartbeat within the last hour. (Lambda workers send none.)",
    )


@command(app, "show", epilog="Example: ojs-aws workers show worker-1")
async def show_worker(session: Session, worker_id: WorkerId) -> None:
    """Show a worker, with the jobs that it last reported."""
    described = (await session.client.workers.get(worker_id)).described
    session.out.fields(described, hidden={"worker", "worker_id"})


@command(
    app, "quiet", epilog="Examples:\n\nojs-aws workers quiet w1\n\nojs-aws workers quiet -l v1"
)
async def quiet_workers(session: Session, chosen: Selection) -> None:
    """Ask workers, with their next heartbeat, to finish their jobs and fetch no more."""
    workers = session.client.workers
    await _direct(session, "quiet", chosen, workers.quiet, workers.quiet_all)


@command(app, "terminate", epilog="Example: ojs-aws workers terminate --label v1")
async def terminate_workers(session: Session, chosen: Selection) -> None:
    """Ask workers to end within their grace period. They cannot be resumed."""
    workers = session.client.workers
    await _direct(session, "terminate", chosen, workers.terminate, workers.terminate_all)


@command(app, "resume", epilog="Example: ojs-aws workers resume --queue email")
async def resume_workers(session: Session, chosen: Selection) -> None:
    """Let quiet workers fetch again."""
    workers = session.client.workers
    await _direct(session, "resume", chosen, workers.resume, workers.resume_all)


async def _direct(
    session: Session,
    action: str,
    chosen: Selection,
    one: Callable[[str], Awaitable[None]],
    many: Callable[..., Awaitable[DirectedWorkers]],
) -> None:
    """Direct one worker or several; the options must say which.

    :raises typer.Exit: with USAGE where it is not.
    """
    if worker_id := chosen.worker_id:
        await one(worker_id)
        session.out.said(f"Sent {action} to {worker_id}.", {"workers": [worker_id], "told": action})
        return
    if not (chosen.queue or chosen.label or chosen.every):
        hint = "Name one, or say --queue, --label or --all."
        raise misuse(session.out, "Which workers?", hint)
    done = await many(queue=chosen.queue, label=chosen.label)
    session.out.said(
        f"Sent {action} to {len(done.told)} {'worker' if len(done.told) == 1 else 'workers'}."
        + (f" {len(done.refused)} terminate already." if done.refused else ""),
        {"workers": [*done.told], "refused": [*done.refused], "told": action},
    )


@command(app, "remove", epilog="Example: ojs-aws workers remove worker-1")
async def remove_worker(session: Session, worker_id: WorkerId) -> None:
    """Remove a worker that missed its heartbeats; its jobs become available by themselves."""
    await session.client.workers.deregister(worker_id)
    session.out.said(f"{worker_id} is removed.", {"id": worker_id, "deleted": True})
