"""Writes the reference of all commands as Markdown, from the commands themselves (docs/cli.md)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

_BEGIN = "<!-- reference -->"
_END = "<!-- /reference -->"

SHARED = frozenset({"url", "api_key", "as_json"})
"""Options of every command that talks to a server; described once."""


def reference(app: typer.Typer) -> str:
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
    return f"{before}{begin}\n{reference(app)}\n{end}{after}"


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
        usage + _tail(options),
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


def _tail(options: list[Any]) -> str:
    return " [OPTIONS]" if options else ""


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
