"""Implements ``ojs-aws tenants``: which tenants there are, and what they have and did."""

from __future__ import annotations

from typing import Annotated

import typer

from ojs_aws.cli.terminal.session import Session, command, listed

app = typer.Typer(name="tenants", no_args_is_help=True, help="Show tenants and their jobs.")

TenantId = Annotated[str, typer.Argument(help="Id of the tenant.")]


@command(app, "list", epilog="Example: ojs-aws tenants list")
async def list_tenants(
    session: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many to show.")] = 50,
) -> None:
    """List the tenants by id, with their jobs."""
    found, _ = await listed(
        limit,
        lambda most, cursor: session.client.tenants.list(limit=most, cursor=cursor),
        lambda page: page.tenants,
    )
    session.out.items(
        {"tenants": [{**each.described} for each in found]},
        {
            "Tenant": "tenant_id",
            "Available": lambda each: each.jobs.get("available"),
            "Active": lambda each: each.jobs.get("active"),
            "Scheduled": lambda each: each.jobs.get("scheduled"),
            "All": "total_jobs",
            "In a minute": lambda each: each.throughput.get("enqueued_per_minute"),
            "Out a minute": lambda each: each.throughput.get("processed_per_minute"),
        },
        found,
        nothing="No job names a tenant.",
    )


@command(app, "show", epilog="Example: ojs-aws tenants show acme")
async def show_tenant(session: Session, tenant: TenantId) -> None:
    """Show what a tenant has, and what it did in the last 24 hours."""
    session.out.fields((await session.client.tenants.stats(tenant)).described)
