"""Implements ``ojs-aws rate-limits``: which limits hold jobs back, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ojs_aws.cli.terminal.session import Session, command, listed, misuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ojs_aws.client.areas.limits import LimitEntry
    from ojs_aws.domain.errors import JsonValue

app = typer.Typer(
    name="rate-limits",
    no_args_is_help=True,
    help="Show, set and remove the limits on how jobs begin.",
)

Key = Annotated[
    str,
    typer.Argument(help="A key of jobs, or queue:NAME, type:TYPE, queue:NAME:type:TYPE."),
]


@command(app, "list", epilog="Example: ojs-aws rate-limits list")
async def list_limits(
    session: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many to show.")] = 50,
) -> None:
    """List the limits by key: what is allowed, what is used, and how many jobs wait."""
    found, _ = await listed(
        limit,
        lambda most, cursor: session.client.rate_limits.list(limit=most, cursor=cursor),
        lambda page: page.limits,
    )
    session.out.items(
        {"rate_limits": [{**each.described} for each in found]},
        {
            "Key": "key",
            "Waiting": "waiting_count",
            "At a time": lambda each: _used(each.concurrency, "active"),
            "Rate": lambda each: _used(each.rate, "current_count"),
            "Throttle": lambda each: _used(each.throttle, ""),
        },
        found,
        nothing="No limits.",
    )


def _used(part: Mapping[str, JsonValue], counted: str) -> str:
    """Return how much of a limit is used: ``3 of 5``, ``80 of 100 in PT1M``."""
    if not part:
        return ""
    used = f"{part.get(counted)} of " if counted else ""
    period = f" in {part['period']}" if "period" in part else ""
    return f"{used}{part.get('limit')}{period}"


@command(app, "show", epilog="Example: ojs-aws rate-limits show stripe")
async def show_limit(session: Session, key: Key) -> None:
    """Show a limit with its counters."""
    _show(session, await session.client.rate_limits.get(key))


@command(
    app,
    "set",
    epilog="Examples:\n\nojs-aws rate-limits set queue:email --concurrency 5 --rate 100/1m"
    "\n\nojs-aws rate-limits set stripe --throttle 10/1s",
)
async def set_limit(
    session: Session,
    key: Key,
    concurrency: Annotated[
        int | None, typer.Option(min=0, help="Most jobs that run at the same time.")
    ] = None,
    rate: Annotated[str, typer.Option(help="Most starts in a time, such as 100/1m.")] = "",
    throttle: Annotated[str, typer.Option(help="The same, evenly spaced, such as 10/1s.")] = "",
) -> None:
    """Set the limit of a key, whatever its jobs name."""
    policy: dict[str, JsonValue] = {} if concurrency is None else {"concurrency": concurrency}
    policy |= {"rate": window_of(rate, "--rate")} if rate else {}
    policy |= {"throttle": window_of(throttle, "--throttle")} if throttle else {}
    if not policy:
        raise misuse(session.out, "Say the limit by --concurrency, --rate or --throttle.")
    _show(session, await session.client.rate_limits.set(key, policy))
    if not key.startswith(("queue:", "type:")):
        session.out.hint(
            f"It applies to jobs that name the key {key!r}; for a queue, set queue:{key}."
        )


def window_of(text: str, option: str) -> dict[str, JsonValue]:
    """Return the number and the period of ``100/1m``.

    :raises typer.BadParameter: another form.
    """
    most, _, period = text.partition("/")
    if not most.isdigit() or not period:
        raise typer.BadParameter(f"{option} is a number and a time, such as 100/1m, not {text!r}")
    return {"limit": int(most), "period": period}


def _show(session: Session, entry: LimitEntry) -> None:
    session.out.fields(entry.described, hidden={"rate_limit"})


@command(app, "remove", epilog="Example: ojs-aws rate-limits remove queue:email")
async def remove_limit(session: Session, key: Key) -> None:
    """Remove what was set for a key; the limits that jobs name apply again."""
    await session.client.rate_limits.remove(key)
    session.out.said(f"{key} has no limit of its own.", {"key": key, "deleted": True})
