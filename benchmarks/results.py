"""Where benchmarks keep what they found: tables as Markdown, curves as SVG, in build/benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from benchmarks.local_server import ROOT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER: Final = ROOT / "build" / "benchmarks"


def show_table(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    console: Console,
    folder: Path = FOLDER,
) -> Path:
    """Print a table and keep it; where.

    :param name: of the file, without its suffix.
    :param rows: with a cell for each column.
    """
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    lines = [_line(columns), _line(["---"] * len(columns)), *map(_line, rows)]
    path = _file(folder, f"{name}.md")
    path.write_text(f"{title}\n\n" + "\n".join(lines) + "\n", "utf-8")
    console.print(f"kept in {_shown(path)}")
    return path


def draw(name: str, figure: Figure, console: Console, folder: Path = FOLDER) -> Path:
    """Keep a plot; where."""
    path = _file(folder, f"{name}.svg")
    figure.savefig(path, metadata={"Date": None})
    console.print(f"drawn to {_shown(path)}")
    return path


def _shown(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def _file(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
