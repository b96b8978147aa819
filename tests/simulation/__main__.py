"""``python -m tests.simulation``: many runs; a failing one is shortened, and shown call by call."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.simulation.search import (
    ACTIONS,
    Outcome,
    Run,
    Search,
    drawn,
    play,
    read,
    shortest,
    text_of,
)

TAIL: Final = 60
"""Calls that are shown of a failing run, the last ones."""


def explain(run: Run, outcome: Outcome, console: Console) -> None:
    """Shorten a failing run, and print it so that it can be played again."""
    console.print(f"seed {run.name}: {outcome.problem}", markup=False)
    with console.status("making it shorter") as status:
        short = shortest(run, outcome, lambda left: status.update(f"{left} actions are left"))
    found = play(short, is_traced=True)
    console.print(f"{short.profile}", markup=False)
    for line in found.trace[-TAIL:]:
        console.print(line, markup=False, highlight=False)
    console.print(f"{len(short.actions)} actions: {found.problem}", markup=False)
    console.print("again: python -m tests.simulation", markup=False, end=" ")
    console.print(
        f"--lines {run.profile.lines} --run {run.name} --only '{text_of(short.actions)}'",
        markup=False,
        soft_wrap=True,
    )


def search(seed: int, steps: int, actions: int, lines: int, console: Console) -> int:
    """Runs until so many calls were made; 1 when a promise was broken."""
    began, searching = time.monotonic(), Search(seed, actions, lines)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("simulating", total=steps)
        for done in searching.go(steps):
            progress.update(
                task, completed=done, description=f"{searching.runs} runs, {done:,} calls"
            )
    seconds = time.monotonic() - began
    console.print(
        f"simulated {searching.runs} runs of {actions} actions from seed {seed}: "
        f"{searching.steps:,} calls in {seconds:.0f} s, {searching.steps / seconds:,.0f} a second"
    )
    for run, outcome in searching.failed:
        explain(run, outcome, console)
    if not searching.failed:
        console.print("every promise was kept")
    return 1 if searching.failed else 0


def again(name: str, only: str, actions: int, lines: int, console: Console) -> int:
    """One run once more, call by call; 1 when a promise was broken."""
    run = drawn(name, actions, lines)
    if only:
        run = Run(name, run.profile, read(only))
    outcome = play(run, is_traced=True)
    for line in outcome.trace:
        console.print(line, markup=False, highlight=False)
    console.print(outcome.problem or "every promise was kept", markup=False)
    return 1 if outcome.problem else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="where all chance comes from")
    parser.add_argument("--steps", type=int, default=1_000_000, help="calls to make, at least")
    parser.add_argument("--actions", type=int, default=ACTIONS, help="actions of each run")
    parser.add_argument(
        "--run", default="", help="play this one run, as '1/27', and print each call"
    )
    parser.add_argument("--only", default="", help="of that run, these actions alone")
    parser.add_argument("--lines", type=int, default=1, help="lines of both queues; 1: not wide")
    given = parser.parse_args(arguments)
    console = Console()
    if given.run:
        return again(given.run, given.only, given.actions, given.lines, console)
    return search(given.seed, given.steps, given.actions, given.lines, console)


if __name__ == "__main__":
    raise SystemExit(main())
