"""Implements ``ojs-aws rate-limits``: which limits hold jobs back, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from ojs_aws.cli.options import json_of
from ojs_aws.cli.session import Session, command, listed, misuse

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
_EXAMPLE: Final = '\'{"concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}}\''


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


@command(app, "set", epilog=f"Example: ojs-aws rate-limits set queue:email {_EXAMPLE}")
async def set_limit(
    session: Session,
    key: Key,
    policy: Annotated[str, typer.Argument(help="A JSON object: concurrency, rate, throttle.")],
) -> None:
    """Set the limit of a key, whatever its jobs name."""
    given = json_of(policy, "The policy")
    if not isinstance(given, dict):
        raise misuse(session.out, "The policy must be a JSON object.", f"Such as {_EXAMPLE}.")
    _show(session, await session.client.rate_limits.set(key, given))


def _show(session: Session, entry: LimitEntry) -> None:
    session.out.fields(entry.described, hidden={"rate_limit"})


@command(app, "remove", epilog="Example: ojs-aws rate-limits remove queue:email")
async def remove_limit(session: Session, key: Key) -> None:
    """Remove what was set for a key; the limits that jobs name apply again."""
    await session.client.rate_limits.remove(key)
    session.out.said(f"{key} has no limit of its own.", {"key": key, "deleted": True})
