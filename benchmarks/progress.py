"""Progress of a long benchmark: a bar on a terminal, a line now and then everywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINE_EVERY_S: Final = 30.0


@contextmanager
def progress_of(what: str, total: int, console: Console) -> Iterator[Callable[[int], None]]:
    """Yield what to call with how many of ``total`` are done."""
    if not console.is_terminal:
        yield _lines(what, total, console)
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda done: progress.update(task, completed=done)


def _lines(what: str, total: int, console: Console) -> Callable[[int], None]:
    began = shown_at = time.monotonic()

    def progress(done: int) -> None:
        nonlocal shown_at
        if (now := time.monotonic()) - shown_at >= LINE_EVERY_S:
            shown_at = now
            console.print(f"{what}: {done:,} of {total:,} after {now - began:.0f} s")
            console.file.flush()

    return progress
