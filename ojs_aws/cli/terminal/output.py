"""Prints a command's output: tables for people, JSON for scripts; errors go to stderr."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from ojs_aws.cli.terminal.tables import drawn, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from ojs_aws.domain.errors import JsonValue, OjsError

Columns: TypeAlias = "Mapping[str, str | Callable[[Any], object]]"
"""The member or attribute that each column shows, or a function of the item."""


@dataclass(frozen=True, slots=True)
class Output:
    """Prints answers in one of two ways.

    :ivar as_json: one JSON value for an answer, or one a line for a stream.
    """

    as_json: bool

    @property
    def can_ask(self) -> bool:
        """Return whether the terminal is interactive."""
        return not self.as_json and sys.stdin.isatty()

    def json(self, value: object) -> None:
        """Print a value as JSON."""
        typer.echo(_json_text(value, indent=2))

    def json_line(self, value: object) -> None:
        """Print a value as one line of JSON."""
        typer.echo(_json_text(value))

    def table(
        self,
        data: object,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        title: str = "",
        nothing: str = "Nothing.",
        is_whole: bool = False,
        least: Sequence[str] = (),
    ) -> None:
        """Print rows as a table, or ``data`` as JSON if that is wanted.

        Each row is one line: what has no room on the terminal is cut, but for the first column.

        :param nothing: what to say where there are no rows.
        :param is_whole: show every value whole, on several lines if need be.
        :param least: columns to leave out where there is no room, the first one first.
        """
        if self.as_json:
            self.json(data)
            return
        console = self.console()
        width = 0 if console.soft_wrap else console.width
        found = drawn(columns, rows, title=title, is_whole=is_whole, width=width, least=least)
        if not found.table.row_count:
            typer.echo(nothing)
            return
        console.print(found.table)
        if found.left_out:
            self.hint(
                f"No room for: {', '.join(found.left_out)}. A wider terminal shows all columns."
            )

    def items(
        self,
        data: object,
        columns: Columns,
        items: Iterable[object],
        *,
        title: str = "",
        nothing: str = "Nothing.",
        least: Sequence[str] = (),
    ) -> None:
        """Print items as a table, one a row; parameters as of :meth:`table`."""
        rows = [[_member(each, column) for column in columns.values()] for each in items]
        self.table(data, [*columns], rows, title=title, nothing=nothing, least=least)

    def fields(
        self,
        data: Mapping[str, object],
        pairs: Iterable[tuple[str, object]] | None = None,
        *,
        hidden: Collection[str] = (),
        title: str = "",
    ) -> None:
        """Print names and values below each other, by default the members of ``data``.

        Empty values are left out, and members that are ``hidden``.
        """
        shown = [
            (name, value)
            for name, value in (data.items() if pairs is None else pairs)
            if name not in hidden and value not in (None, "", [], {})
        ]
        self.table({**data}, ("", ""), shown, title=title, is_whole=True)

    def text(self, text: str) -> None:
        """Print lines for people; what has no room on the terminal goes on below, indented."""
        if self.as_json:
            return
        console = self.console()
        for line in printable(text).split("\n"):
            if console.soft_wrap or len(line) <= console.width:
                typer.echo(line, file=console.file)
                continue
            indent = " " * (len(line) - len(line.lstrip()))
            wrapped = textwrap.wrap(
                line.strip(),
                console.width,
                initial_indent=indent,
                subsequent_indent=f"{indent}  ",
                break_on_hyphens=False,
            )
            typer.echo("\n".join(wrapped), file=console.file)

    def said(self, text: str, data: Mapping[str, JsonValue]) -> None:
        """Say what was done, or print ``data`` as JSON if that is wanted."""
        if self.as_json:
            self.json({**data})
        else:
            typer.echo(printable(text))

    def hint(self, text: str) -> None:
        """Print a hint for people that is no part of the answer."""
        if not self.as_json:
            typer.secho(text, err=True, dim=True)

    def problem(self, text: str, hint: str = "", **more: object) -> None:
        """Print what is wrong."""
        if self.as_json:
            typer.echo(json.dumps({"error": {"message": text, "hint": hint, **more}}), err=True)
            return
        typer.secho(f"Error: {printable(text)}", err=True, fg="red")
        if hint:
            typer.echo(f"  {hint}", err=True)

    def error(self, problem: OjsError) -> None:
        """Print what a server refused, or that there is no server."""
        self.problem(problem.message, problem.hint, code=problem.code)

    @contextmanager
    def progress(self, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show progress on a terminal; yield what to call with each step."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(what, total=total)
            yield lambda step: progress.advance(task, step)

    def console(self) -> Console:
        """Return the console that draws tables."""
        from rich.console import Console

        # Redirected output is not cut to the width of no terminal.
        return Console() if sys.stdout.isatty() else Console(width=200, soft_wrap=True)


def flat(members: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield names and values for :meth:`Output.fields`; an object's members one below the other."""
    for name, value in members.items():
        if isinstance(value, dict):
            yield from ((f"{name}: {each}", inner) for each, inner in value.items())
        else:
            yield name, value


def _json_text(value: object, indent: int | None = None) -> str:
    """Return JSON that stdout can write; other characters than its encoding has are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can say, is one, too
        return json.dumps(value, indent=indent)
    return text


def _member(item: object, column: str | Callable[[Any], object]) -> object:
    if not isinstance(column, str):
        return column(item)
    return item.get(column) if isinstance(item, Mapping) else getattr(item, column)
