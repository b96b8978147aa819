"""Implements ``ojs-aws tenants``: which there are, what they have and did, and their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.limits import window_of
from ojs_aws.cli.terminal.session import Session, command, listed, misuse

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(name="tenants", no_args_is_help=True, help="Show and limit tenants.")

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
            "State": "state",
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


@command(
    app,
    "set",
    epilog="Examples:\n\nojs-aws tenants set acme --max-concurrency 20"
    "\n\nojs-aws tenants set acme --max-enqueue-rate 1000/1m --max-queue-depth 50000",
)
async def set_tenant(
    session: Session,
    tenant: TenantId,
    max_concurrency: Annotated[
        str, typer.Option(help="Most jobs that run at the same time; none for any number.")
    ] = "",
    max_enqueue_rate: Annotated[
        str, typer.Option(help="Most jobs that are enqueued in a time: 1000/1m; none for any.")
    ] = "",
    max_queue_depth: Annotated[
        str, typer.Option(help="Most jobs that are available or scheduled; none for any number.")
    ] = "",
    max_scheduled: Annotated[
        str, typer.Option(help="Most jobs that are scheduled; none for any number.")
    ] = "",
    fairness_weight: Annotated[
        str, typer.Option(help="Its share of fair queues: 0.01 to 1000; none for 1.")
    ] = "",
) -> None:
    """Set limits of a tenant; those that are not named stay."""
    counts = {
        "max_concurrency": max_concurrency,
        "max_queue_depth": max_queue_depth,
        "max_scheduled": max_scheduled,
    }
    limits: dict[str, JsonValue] = {
        name: _count(text, f"--{name.replace('_', '-')}") for name, text in counts.items() if text
    }
    if max_enqueue_rate:
        is_none = max_enqueue_rate == "none"
        rate = None if is_none else window_of(max_enqueue_rate, "--max-enqueue-rate")
        limits["max_enqueue_rate"] = rate
    if fairness_weight:
        limits["fairness_weight"] = _weight(fairness_weight)
    if not limits:
        raise misuse(session.out, "Say a limit, such as --max-concurrency 20.")
    session.out.fields((await session.client.tenants.set(tenant, limits)).described)


def _count(text: str, option: str) -> int | None:
    """Return the number that an option names; None for ``none``.

    :raises typer.BadParameter: another form.
    """
    if text == "none":
        return None
    if not text.isdecimal():
        raise typer.BadParameter(f"{option} is a whole number or none, not {text!r}")
    return int(text)


def _weight(text: str) -> float | None:
    """Return the weight that the option names; None for ``none``.

    :raises typer.BadParameter: it is no number.
    """
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        message = f"--fairness-weight is a number or none, not {text!r}"
        raise typer.BadParameter(message) from None


@command(app, "suspend", epilog="Example: ojs-aws tenants suspend acme")
async def suspend_tenant(session: Session, tenant: TenantId) -> None:
    """Refuse a tenant's new jobs, and let none of its jobs begin."""
    session.out.fields((await session.client.tenants.suspend(tenant)).described)


@command(app, "resume", epilog="Example: ojs-aws tenants resume acme")
async def resume_tenant(session: Session, tenant: TenantId) -> None:
    """Let a suspended tenant go on, with the limits that it had."""
    session.out.fields((await session.client.tenants.resume(tenant)).described)


@command(app, "reset", epilog="Example: ojs-aws tenants reset acme")
async def reset_tenant(session: Session, tenant: TenantId) -> None:
    """Remove all limits of a tenant, and end its suspension."""
    await session.client.tenants.reset(tenant)
    session.out.said(f"{tenant} has no limits of its own.", {"tenant_id": tenant})
