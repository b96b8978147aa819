"""Implements ``ojs-aws workers`` (which workers live, and their directives) and ``pools``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.terminal.queue_names import say_if_unknown
from ojs_aws.cli.terminal.session import Done, Session, command, each_named, misuse, pages
from ojs_aws.cli.terminal.tables import age_text, when_text, with_ages
from ojs_aws.domain.workers import Strategy

if TYPE_CHECKING:
    from ojs_aws.client.areas.workers import DirectedWorkers, PoolEntry, WorkerEntry
    from ojs_aws.domain.envelope import Job
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="workers", no_args_is_help=True, help="List, quiet, terminate and resume workers."
)

pools_app = typer.Typer(
    name="pools",
    no_args_is_help=True,
    help="Show, set and delete worker pools: the order in which workers empty queues.",
)

MAX_SHOWN: Final = 20
"""Jobs of one worker that are read to show them."""

_REPEATED: Final = {"worker", "worker_id", "active_job_ids", "last_heartbeat"}
"""Members of a worker that others repeat, or that have a part of their own."""

WorkerId = Annotated[str, typer.Argument(help="Id of the worker.")]


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects the workers that a directive is for."""

    worker_ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of workers; leave out to use an option.")
    ] = None
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
            "Jobs": slots_text,
            "Queues": lambda each: ", ".join(each.queues),
            "Labels": lambda each: ", ".join(each.labels),
            "Host": "hostname",
            "Heartbeat": lambda each: when_text(each.last_heartbeat_at),
        },
        workers,
        least=("Labels", "Host", "Directive"),
        nothing="No worker sent a heartbeat within the last hour. (Lambda workers send none.)",
    )


def slots_text(worker: WorkerEntry) -> str:
    """Return how many jobs a worker has, of how many it can have if it says that."""
    slots = worker.described.get("concurrency")
    return f"{worker.active_jobs} of {slots}" if slots else str(worker.active_jobs)


@command(app, "show", epilog="Example: ojs-aws workers show worker-1")
async def show_worker(session: Session, worker_id: WorkerId) -> None:
    """Show a worker, with the jobs that it last reported."""
    described = (await session.client.workers.get(worker_id)).described
    session.out.fields(described, with_ages(described), hidden=_REPEATED)
    from ojs_aws.domain.errors import NotFoundError
    from ojs_aws.domain.json_text import decode, encode

    ids = described.get("active_job_ids")
    if session.out.as_json or not isinstance(ids, list) or not ids:
        return
    jobs = []
    for job_id in ids[:MAX_SHOWN]:
        with suppress(NotFoundError):  # it was deleted meanwhile
            jobs.append(await session.client.get(str(job_id)))
    columns: dict[str, str | Callable[[Job], object]] = {
        "Job": "id",
        "Type": "type",
        "State": "state",
        "Runs for": lambda each: age_text(decode(each.members().get("started_at", "null"))),
        "Arguments": lambda each: encode([*each.args]),
    }
    title = f"\nIts jobs{f', the first {MAX_SHOWN}' if len(ids) > MAX_SHOWN else ''}"
    session.out.items({}, columns, jobs, title=title, nothing="")


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
    """Direct the named workers, or those of the options.

    :raises typer.Exit: with USAGE where neither are given, or both; as :func:`each_named`.
    """
    has_options = bool(chosen.queue or chosen.label or chosen.every)
    if bool(chosen.worker_ids) == has_options:
        hint = "Name some, or say --queue, --label or --all."
        raise misuse(session.out, "Which workers?", hint)

    async def direct_one(worker_id: str) -> Done:
        await one(worker_id)
        return f"Sent {action} to {worker_id}.", {"workers": [worker_id], "directive": action}

    if chosen.worker_ids:
        await each_named(session.out, chosen.worker_ids, direct_one)
        return
    done = await many(queue=chosen.queue, label=chosen.label)
    session.out.said(
        f"Sent {action} to {len(done.directed)} worker{'s' * (len(done.directed) != 1)}."
        + (f" {len(done.refused)} terminate already." if done.refused else ""),
        {"workers": [*done.directed], "refused": [*done.refused], "directive": action},
    )
    if not done.directed:
        await say_if_unknown(session, chosen.queue)


@command(app, "remove", epilog="Example: ojs-aws workers remove worker-1")
async def remove_worker(session: Session, worker_id: WorkerId) -> None:
    """Remove a worker that missed its heartbeats; its jobs become available by themselves."""
    await session.client.workers.deregister(worker_id)
    session.out.said(f"{worker_id} is removed.", {"id": worker_id, "deleted": True})


PoolName = Annotated[str, typer.Argument(help="Name of the pool.")]


@command(pools_app, "list", epilog="Example: ojs-aws pools list")
async def list_pools(session: Session) -> None:
    """List the worker pools."""
    found = await session.client.workers.pools()
    session.out.items(
        {"pools": [{**each.described} for each in found]},
        {
            "Name": "name",
            "Strategy": "strategy",
            "Queues": queues_text,
            "Workers": "active_workers",
            "Jobs": "active_jobs",
        },
        found,
        nothing="No pools.",
    )


def queues_text(pool: PoolEntry) -> str:
    """Return the queues of a pool, with their weights where these count."""
    weights = pool.weights
    return ", ".join(f"{each}={weights[each]}" if each in weights else each for each in pool.queues)


@command(pools_app, "show", epilog="Example: ojs-aws pools show general")
async def show_pool(session: Session, name: PoolName) -> None:
    """Show a worker pool."""
    pool = await session.client.workers.pool(name)
    session.out.fields(pool.described, hidden={"pool"})


@command(
    pools_app,
    "set",
    epilog="Examples:\n\nojs-aws pools set general critical=5 default=2 low=1"
    "\n\nojs-aws pools set urgent critical payments --strategy strict",
)
async def set_pool(
    session: Session,
    name: PoolName,
    queues: Annotated[
        list[str], typer.Argument(help="Queues, each with a weight if you like: email=3.")
    ],
    strategy: Annotated[
        Strategy | None, typer.Option(help="Default: weighted for weights, else round-robin.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Jobs that its workers may run; shown, not enforced.")
    ] = None,
) -> None:
    """Create a worker pool, or replace it; its workers follow within some seconds."""
    weights = dict(map(_queue_and_weight, queues))
    is_weighted = any("=" in each for each in queues)
    pool = await session.client.workers.set_pool(
        name,
        weights if is_weighted else [*weights],
        strategy=strategy or "",
        concurrency=concurrency,
    )
    text = f"The pool {name} fetches from {queues_text(pool)} ({pool.strategy})."
    session.out.said(text, {**pool.described})


def _queue_and_weight(text: str) -> tuple[str, int]:
    """Return the queue and the weight of ``email=3``; 1 where there is none.

    :raises typer.BadParameter: the weight is no number.
    """
    queue, _, weight = text.partition("=")
    if weight and not weight.isdigit():
        raise typer.BadParameter(f"a weight is a whole number, as in email=3, not {text!r}")
    return queue, int(weight or 1)


@command(pools_app, "delete", epilog="Example: ojs-aws pools delete general")
async def delete_pool(session: Session, name: PoolName) -> None:
    """Delete a worker pool; its workers fetch from the queues that they name themselves."""
    await session.client.workers.delete_pool(name)
    session.out.said(f"The pool {name} is deleted.", {"name": name, "deleted": True})
