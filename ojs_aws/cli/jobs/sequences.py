"""Implements ``ojs-aws sequences``: whose turn it is, and how a stopped one goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from ojs_aws.cli.terminal.session import Session, command

app = typer.Typer(
    name="sequences", no_args_is_help=True, help="Show sequences, and let stopped ones go on."
)

Key = Annotated[str, typer.Argument(help="Key of the sequence.")]
TenantOption = Annotated[str, typer.Option("--tenant", help="Id of the tenant whose it is.")]


@command(app, "show", epilog="Example: ojs-aws sequences show order-4711")
async def show_sequence(session: Session, key: Key, tenant: TenantOption = "") -> None:
    """Show whose turn it is, and which jobs wait."""
    session.out.fields((await session.client.sequences.get(key, tenant=tenant)).described)


@command(app, "skip", epilog="Example: ojs-aws sequences skip order-4711")
async def skip_sequence(session: Session, key: Key, tenant: TenantOption = "") -> None:
    """Let a stopped sequence go on without the discarded job."""
    session.out.fields((await session.client.sequences.skip(key, tenant=tenant)).described)
