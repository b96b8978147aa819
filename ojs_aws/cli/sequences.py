"""Implements ``ojs-aws sequences``: which are stopped, whose turn it is, and how one goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from ojs_aws.cli.terminal.queue_names import say_if_unknown
from ojs_aws.cli.terminal.session import Session, command, listed

app = typer.Typer(
    name="sequences", no_args_is_help=True, help="Show sequences, and let stopped ones go on."
)

Key = Annotated[str, typer.Argument(help="Key of the sequence.")]
TenantOption = Annotated[str, typer.Option("--tenant", help="Id of the tenant whose it is.")]


@command(app, "list", epilog="Example: ojs-aws sequences list --queue email")
async def list_sequences(
    session: Session,
    queue: Annotated[str, typer.Option("--queue", "-q", help="Queue of the discarded job.")] = "",
    tenant: TenantOption = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many to show.")] = 50,
) -> None:
    """List the sequences that are stopped on a discarded job, those stopped first at the begin."""
    found, _ = await listed(
        limit,
        lambda most, cursor: session.client.sequences.list(
            queue=queue, tenant=tenant, limit=most, cursor=cursor
        ),
        lambda page: page.sequences,
    )
    session.out.items(
        {"sequences": [{**each.described} for each in found]},
        {
            "Key": "key",
            "Tenant": "tenant_id",
            "Stopped since": "stopped_at",
            "Job": "job_id",
            "Type": "type",
            "Queue": "queue",
            "Enqueued behind": lambda each: each.next - each.position - 1,
        },
        found,
        nothing="No sequence is stopped.",
    )
    if not found:
        await say_if_unknown(session, queue)


@command(app, "show", epilog="Example: ojs-aws sequences show order-4711")
async def show_sequence(session: Session, key: Key, tenant: TenantOption = "") -> None:
    """Show whose turn it is, and which jobs wait."""
    session.out.fields((await session.client.sequences.get(key, tenant=tenant)).described)


@command(app, "skip", epilog="Example: ojs-aws sequences skip order-4711")
async def skip_sequence(session: Session, key: Key, tenant: TenantOption = "") -> None:
    """Let a stopped sequence go on without the discarded job."""
    session.out.fields((await session.client.sequences.skip(key, tenant=tenant)).described)
