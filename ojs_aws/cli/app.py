"""Builds the command's tree and its reference. Subcommands import what they need when they run."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Annotated, Any

try:
    import typer
except ModuleNotFoundError as missing:  # pragma: no cover - depends on the installation
    extra = "local" if sys.argv[1:2] == ["local"] else "cli"
    raise SystemExit(f"The command needs an extra: pip install 'ojs-aws[{extra}]'") from missing

from ojs_aws.cli import (
    bindings,
    cron,
    dashboard,
    events,
    init,
    keys,
    limits,
    local,
    monitor,
    outbox,
    queues,
    run,
    sequences,
    tenants,
    workers,
    workflows,
)
from ojs_aws.cli.deployment import cost, deploy, doctor, preflight, readiness, restore
from ojs_aws.cli.jobs import changes, dead_letters, enqueue, erase, views
from ojs_aws.cli.migration import command as migrate
from ojs_aws.cli.verify import command as verify


def hide_types_of_flags() -> None:
    """Let help texts show no type behind a flag, which takes no value."""
    from typer.core import TyperOption

    shown = TyperOption.display_type_rich

    def display(self: TyperOption, ctx: Any) -> str | None:
        return None if self.is_flag else shown(self, ctx)

    TyperOption.display_type_rich = display  # type: ignore[method-assign]


def flow_help(app: typer.Typer) -> None:
    """Let the terminal wrap the help texts of all commands."""
    for info in app.registered_commands:
        paragraphs = inspect.cleandoc(info.help or getattr(info.callback, "__doc__", "") or "")
        info.help = "\n\n".join(" ".join(each.split("\n")) for each in paragraphs.split("\n\n"))
    for group in app.registered_groups:
        if group.typer_instance is not None:
            flow_help(group.typer_instance)


_BEGIN = "<!-- reference -->"
_END = "<!-- /reference -->"

SHARED = frozenset({"url", "api_key", "as_json"})
"""Options of every command that talks to a server; described once."""


def reference_of(app: typer.Typer) -> str:
    """Return every command with its arguments and options."""
    root = typer.main.get_command(app)
    parts = [_described(path, each) for path, each in _commands(root, ("ojs-aws",))]
    return "\n\n".join(parts)


def in_document(text: str, app: typer.Typer) -> str:
    """Return a document with the reference between its marks.

    :raises ValueError: it has no marks.
    """
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"The document lacks {_BEGIN} and {_END}.")
    return f"{before}{begin}\n{reference_of(app)}\n{end}{after}"


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the commands below a group in the order of its help, depth first."""
    for name, each in group.commands.items():
        if each.hidden:
            continue
        if hasattr(each, "commands"):
            yield from _commands(each, (*path, name))
        else:
            yield " ".join((*path, name)), each


def _described(path: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [
        each
        for each in command.params
        if each.param_type_name == "option" and each.name not in SHARED | {"help"}
    ]
    usage = " ".join([path, *(_usage(each) for each in arguments)])
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    text = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    lines = [
        f"### `{path}`",
        "",
        text,
        "",
        "```",
        usage + " [OPTIONS]" * bool(options),
        "```",
    ]
    rows = [(_usage(each), each) for each in arguments]
    rows += [(", ".join(each.opts), each) for each in options]
    if rows:
        lines += ["", "| | |", "|---|---|"]
        lines += [f"| `{name}` | {_help(each)} |" for name, each in rows]
    if command.epilog:
        lines += ["", *_examples(command.epilog)]
    return "\n".join(lines)


def _usage(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper()
    if argument.nargs == -1 or argument.multiple:
        name += "..."
    return name if argument.required else f"[{name}]"


def _help(parameter: Any) -> str:
    text = str(parameter.help or "").replace("|", "\\|")
    default = parameter.default
    is_shown = default not in (None, "", False, (), []) and not callable(default)
    default_text = f" Default: `{default}`." if is_shown else ""
    needed = " Required." if parameter.required and parameter.param_type_name == "option" else ""
    return text + default_text + needed


def _examples(epilog: str) -> list[str]:
    """Return the examples of an epilog as a block of shell."""
    if not epilog.startswith("Example"):
        return [epilog]
    commands = epilog.partition(":")[2].strip().split("\n\n")
    return ["```sh", *(each.strip() for each in commands), "```"]


hide_types_of_flags()

app = typer.Typer(
    name="ojs-aws",
    help="Open Job Spec on AWS: enqueue and manage jobs, and run the backend locally.",
    epilog="OJS_URL and OJS_API_KEY say which server, and who you are. Start with: ojs-aws local, "
    "then ojs-aws enqueue demo.echo '[1]' -q demo --wait. Exit codes: 0 done, 1 failed, 2 wrong "
    "usage, 3 not found, 4 conflict, 5 unreachable, 6 refused, 7 a check failed.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
changes.app.registered_commands += erase.app.registered_commands
for _group in (
    changes.app,
    queues.app,
    limits.app,
    sequences.app,
    tenants.app,
    workers.app,
    cron.app,
    workflows.app,
    dead_letters.app,
    outbox.app,
    migrate.app,
    keys.app,
    restore.app,
    restore.documents_app,
    workers.pools_app,
    bindings.app,
    local.demos,
):
    app.add_typer(_group)
for _root in (
    enqueue,
    views,
    events,
    monitor,
    dashboard,
    doctor,
    readiness,
    preflight,
    deploy,
    verify,
    init,
    cost,
    run,
    local,
):
    app.registered_commands += _root.app.registered_commands


def _show_version(is_wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    from ojs_aws._version import __version__

    if is_wanted:
        typer.echo(f"ojs-aws {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Open Job Spec on AWS."""
    del version  # shown by then


@app.command()
def settings(
    markdown: Annotated[bool, typer.Option(help="Print the table as Markdown.")] = False,
) -> None:
    """Show every setting of the backend: its variable, default and meaning."""
    from rich.console import Console
    from rich.table import Table

    from ojs_aws.config import describe_settings
    from ojs_aws.environment import settings_table

    if markdown:
        typer.echo(settings_table(describe_settings()))
        return
    table = Table("Variable", "Default", "Meaning", title="Settings")
    for row in describe_settings():
        table.add_row(*row)
    Console().print(table)


@app.command()
def middleware(
    path: Annotated[
        str,
        typer.Argument(
            help="What to show, as module:attribute: a chain, hooks, extensions, a client or a "
            "worker. Default: what OJS_ENQUEUE_MIDDLEWARE and OJS_HOOKS name for the backend."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show middleware chains and hooks in their order, and what looks wrong about them.

    Example: ojs-aws middleware jobs:worker
    """
    from ojs_aws.cli.middleware import show_middleware

    show_middleware(path, as_json=as_json)


@app.command(hidden=True)
def reference() -> None:
    """Print the reference of all commands as Markdown (docs/cli.md)."""
    typer.echo(reference_of(app))


flow_help(app)
