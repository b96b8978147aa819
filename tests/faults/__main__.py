"""Injects every fault into every call of every operation, and prints what breaks.

python -m tests.faults [name ...] [--only KIND,...] [--at N] [--sample N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from rich.console import Console
from rich.progress import track

from tests.faults.process import quiet
from tests.faults.running import broken_by, some, without_faults
from tests.faults.scenarios import SCENARIOS


def main() -> int:
    """Run; 1 when something is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="begin the names of the scenarios to be run")
    parser.add_argument("--only", default="", help="kinds of faults, separated by commas")
    parser.add_argument("--sample", type=int, default=0, help="faults of a scenario at most")
    parser.add_argument("--at", type=int, help="one call, by its number from 0")
    asked = parser.parse_args()
    quiet()
    console = Console()
    chosen = [
        each
        for each in SCENARIOS
        if not asked.names or any(each.name.startswith(name) for name in asked.names)
    ]
    kinds = asked.only.upper().split(",") if asked.only else []
    begin, calls, run, broken = time.monotonic(), 0, Counter[str](), 0
    for scenario in track(chosen, console=console, disable=not sys.stderr.isatty()):
        wanted, faults = without_faults(scenario)
        calls += len({fault.at for fault in faults})
        for fault in some(faults, asked.sample):
            if kinds and fault.kind.name not in kinds:
                continue
            if asked.at not in {None, fault.at}:
                continue
            run[fault.kind.name.lower()] += 1
            if found := [*broken_by(fault, wanted)]:
                broken += 1
                console.print(f"[red]{fault}[/red]", *found, sep="\n    ", highlight=False)
    seconds = time.monotonic() - begin
    console.print(f"{len(chosen)} scenarios, {calls} calls, {run.total()} faults: {dict(run)}")
    console.print(f"{broken} broken something; {seconds:.0f} s")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
