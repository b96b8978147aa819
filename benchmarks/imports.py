"""Where the start of each function goes: the time of its imports, by package.

    python -m benchmarks.imports                        # a table of all functions
    python -m benchmarks.imports producer --modules 20  # the slowest modules of one

Measured by the interpreter itself (``-X importtime``), each function in a fresh one, several times;
the fastest run counts. What is to be compared with other machines is the share, not the time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console

from benchmarks.results import show_table
from benchmarks.startup import API_FUNCTIONS, ENVIRONMENT, OTHER_FUNCTIONS, ROOT

FUNCTIONS: Final = (*API_FUNCTIONS, *OTHER_FUNCTIONS)
MARK: Final = "import time:"
SHOWN: Final = 8
STDLIB: Final = "(standard library)"


@dataclass(frozen=True, slots=True)
class Profile:
    """The imports of one function.

    :ivar modules: microseconds of each module itself, without what it imports.
    """

    function: str
    modules: Counter[str]

    @property
    def total_us(self) -> int:
        """All of them."""
        return sum(self.modules.values())

    def packages(self) -> Counter[str]:
        """Microseconds by package; the standard library is one."""
        found: Counter[str] = Counter()
        for module, microseconds in self.modules.items():
            top = module.partition(".")[0]
            found[STDLIB if top in sys.stdlib_module_names else top] += microseconds
        return found


def parse(text: str) -> Counter[str]:
    """What ``-X importtime`` printed: microseconds of each module itself."""
    modules: Counter[str] = Counter()
    for line in text.splitlines():
        if line.startswith(MARK):
            own, _, name = line.removeprefix(MARK).split("|")
            if own.strip().isdigit():
                modules[name.strip()] += int(own)
    return modules


def profile(function: str, rounds: int) -> Profile:
    """The fastest of some starts."""
    environ = {**os.environ, **ENVIRONMENT}
    for name in ("AWS_ENDPOINT_URL", "PYTHONDONTWRITEBYTECODE"):  # what is deployed is compiled
        environ.pop(name, None)
    code = f"import functions.{function}.handler"
    command = [sys.executable, "-X", "importtime", "-c", code]
    found = []
    for _ in range(rounds + 1):  # the first one compiles what is not compiled yet
        ended = subprocess.run(
            command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True
        )
        found.append(Profile(function, parse(ended.stderr)))
    return min(found, key=lambda each: each.total_us)


def show_all(profiles: Sequence[Profile], console: Console) -> None:
    """A column for each function, a row for each package that takes most."""
    together: Counter[str] = Counter()
    for each in profiles:
        together.update(each.packages())
    shown = [name for name, _ in together.most_common(SHOWN)]
    rows = [[name, *(_ms(each.packages()[name]) for each in profiles)] for name in shown]
    rest = [sum(n for name, n in each.packages().items() if name not in shown) for each in profiles]
    rows.append(["all others", *map(_ms, rest)])
    rows.append(["together", *(_ms(each.total_us) for each in profiles)])
    rows.append(["modules", *(str(len(each.modules)) for each in profiles)])
    columns = ("milliseconds in modules of", *(each.function for each in profiles))
    show_table("imports", "Imports of each function", columns, rows, console)


def show_one(found: Profile, count: int, console: Console) -> None:
    """The slowest modules of one."""
    rows = [(name, _ms(microseconds)) for name, microseconds in found.modules.most_common(count)]
    title = f"Imports of {found.function}: {_ms(found.total_us)} ms"
    show_table(f"imports-{found.function}", title, ("module itself", "ms"), rows, console)


def _ms(microseconds: int) -> str:
    return f"{microseconds / 1000:.1f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Profile the imports of the functions.")
    parser.add_argument("function", nargs="?", choices=FUNCTIONS)
    parser.add_argument("--modules", type=int, default=20, help="of the one function")
    parser.add_argument("--rounds", type=int, default=1 if os.environ.get("QUICK") else 3)
    given: Any = parser.parse_args(arguments)
    console = Console()
    if given.function:
        show_one(profile(given.function, given.rounds), given.modules, console)
    else:
        show_all([profile(name, given.rounds) for name in FUNCTIONS], console)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
