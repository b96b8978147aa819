"""Implements ``ojs-aws workers``: which workers live, and their directives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ojs_aws.cli.session import ExitCode, Session, command

if TYPE_CHECKING:
    from ojs_aws.client.areas.workers import WorkerEntry

app = typer.Typer(
    name="workers", no_args_is_help=True, help="List, quiet, terminate and resume workers."
)

WorkerId = Annotated[str, typer.Argument(help="Id of the worker.")]
OptionalId = Annotated[str, typer.Argument(help="Id of one worker; leave out to use an option.")]
Queue = Annotated[str, typer.Option("--queue", "-q", help="Workers that serve this queue.")]
Label = Annotated[str, typer.Option("--label", "-l", help="Workers with this label.")]
All = Annotated[bool, typer.Option("--all", help="All workers that are registered now.")]


@command(app, "list", epilog="Example: ojs-aws workers list")
async def list_workers(session: Session) -> None:
    """List the workers that sent a heartbeat within the last hour."""
    workers: list[WorkerEntry] = []
    cursor, summary = "", {}
    while True:
        page = await session.client.workers.list(limit=200, cursor=cursor)
        workers += page.workers
        summary, cursor = {**page.summary}, page.cursor
        if not cursor:
            break
    session.out.table(
        {"workers": [{**each.described} for each in workers], "summary": summary},
        ("Id", "State", "Directive", "Jobs", "Queues", "Labels", "Host", "Last heartbeat"),
        [
            (
                each.id,
                each.state,
                each.directive,
                each.active_jobs,
                ", ".join(each.queues),
                ", ".join(each.labels),
                each.hostname,
                each.last_heartbeat_at,
            )
            for each in workers
        ],
        nothing="No worker has beaten within the last hour. (Lambda workers do not beat.)",
    )


@command(app, "show", epilog="Example: ojs-aws workers show worker-1")
async def show_worker(session: Session, worker_id: WorkerId) -> None:
    """Show a worker, with the jobs that it last reported."""
    described = (await session.client.workers.get(worker_id)).described
    session.out.fields(
        {**described},
        [pair for pair in described.items() if pair[0] not in {"worker", "worker_id"}],
    )


@command(
    app, "quiet", epilog="Examples:\n\nojs-aws workers quiet w1\n\nojs-aws workers quiet -l v1"
)
async def quiet_workers(
    session: Session,
    worker_id: OptionalId = "",
    queue: Queue = "",
    label: Label = "",
    every: All = False,
) -> None:
    """Ask workers, with their next heartbeat, to finish their jobs and fetch no more."""
    await _direct(session, "quiet", worker_id, queue, label, every=every)


@command(app, "terminate", epilog="Example: ojs-aws workers terminate --label v1")
async def terminate_workers(
    session: Session,
    worker_id: OptionalId = "",
    queue: Queue = "",
    label: Label = "",
    every: All = False,
) -> None:
    """Ask workers to end within their grace period. They cannot be resumed."""
    await _direct(session, "terminate", worker_id, queue, label, every=every)


@command(app, "resume", epilog="Example: ojs-aws workers resume --queue email")
async def resume_workers(
    session: Session,
    worker_id: OptionalId = "",
    queue: Queue = "",
    label: Label = "",
    every: All = False,
) -> None:
    """Let quiet workers fetch again."""
    await _direct(session, "resume", worker_id, queue, label, every=every)


async def _direct(
    session: Session,
    action: Literal["quiet", "terminate", "resume"],
    worker_id: str,
    queue: str,
    label: str,
    *,
    every: bool,
) -> None:
    """Direct one worker or several; the options must say which.

    :raises typer.Exit: with USAGE where it is not.
    """
    workers = session.client.workers
    if worker_id:
        one = {"quiet": workers.quiet, "terminate": workers.terminate, "resume": workers.resume}
        await one[action](worker_id)
        session.out.said(f"Sent {action} to {worker_id}.", {"workers": [worker_id], "told": action})
        return
    if not (queue or label or every):
        session.out.problem("Which workers?", "Name one, or say --queue, --label or --all.")
        raise typer.Exit(ExitCode.USAGE)
    many = {
        "quiet": workers.quiet_all,
        "terminate": workers.terminate_all,
        "resume": workers.resume_all,
    }
    done = await many[action](queue=queue, label=label)
    session.out.said(
        f"Sent {action} to {len(done.told)} {'worker' if len(done.told) == 1 else 'workers'}."
        + (f" {len(done.refused)} terminate already." if done.refused else ""),
        {"workers": [*done.told], "refused": [*done.refused], "told": action},
    )


@command(app, "remove", epilog="Example: ojs-aws workers remove worker-1")
async def remove_worker(session: Session, worker_id: WorkerId) -> None:
    """Remove a worker that missed its heartbeats; its jobs come back by themselves."""
    await session.client.workers.deregister(worker_id)
    session.out.said(f"{worker_id} is removed.", {"id": worker_id, "deleted": True})
