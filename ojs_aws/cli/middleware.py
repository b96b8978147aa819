"""Implements ``ojs-aws middleware``: shows chains and hooks in their order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Final

import typer
from rich.console import Console
from rich.table import Table

from ojs_aws.config import Settings, SettingsError
from ojs_aws.middleware import extensions
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.extensions import Extensions
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.members import Members
from ojs_aws.middleware.protocols import check

_TITLES: Final[Mapping[str, str]] = {
    "enqueue": "Enqueue middleware, the first one called first",
    "execution": "Execution middleware, the first one outermost",
    "hooks": "Hooks, in the order of their calls",
}


def show_middleware(path: str, *, as_json: bool) -> None:
    """Print the middleware at a path, or the backend's.

    :raises typer.Exit: with code 2 where the path leads to nothing of the kind.
    """
    extensions.search_here()
    try:
        found = _found(path)
    except (ImportError, AttributeError, SettingsError, TypeError) as problem:
        typer.echo(f"ojs-aws middleware: {problem}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        shown = {name: [each.as_dict() for each in m.described()] for name, m in found.items()}
        typer.echo(json.dumps(shown, indent=2))
        return
    for name, members in found.items():
        _print(_TITLES[name], members)


def _found(path: str) -> dict[str, Members]:
    """Return the chains and hooks by their titles."""
    if not path:
        settings = Settings.from_env(os.environ)
        return {
            "enqueue": extensions.enqueue_chain(settings.enqueue_middleware),
            "hooks": extensions.hooks(settings.hooks),
        }
    found = extensions.find(path, "worker")
    if isinstance(found, Extensions):
        return {"enqueue": found.enqueuing, "execution": found.execution, "hooks": found.hooks}
    parts = [found, getattr(found, "middleware", None), getattr(found, "hooks", None)]
    names = {EnqueueChain: "enqueue", ExecutionChain: "execution", Hooks: "hooks"}
    shown = {name: part for part in parts for kind, name in names.items() if isinstance(part, kind)}
    if not shown:
        raise TypeError(f"{path!r} is a {type(found).__name__}, which has no middleware or hooks.")
    return shown


def _print(title: str, members: Members) -> None:
    table = Table("#", "Name", "Made by", "Implements", title=title, title_justify="left")
    for position, each in enumerate(members.described(), 1):
        table.add_row(str(position), each.name, each.kind, ", ".join(each.implements))
    console = Console()
    console.print(table if len(members) else f"{title}: none.")
    for member in members:
        for problem in check(member).problems:
            console.print(f"  {problem}", style="yellow", markup=False)
