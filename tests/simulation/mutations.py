"""Breaks the code on purpose, once in each way, and sees that the simulation notices.

    python -m tests.simulation.mutations [--steps 1000000] [--seed 1] [name ...]

Each breakage is a piece of a function's text and what stands there instead; the patched function is
compiled in its own module, and put back afterwards. A piece that is not there any more is an error:
the list is to be kept true.
"""

from __future__ import annotations

import argparse
import builtins
import dis
import functools
import importlib
import inspect
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final, cast

from rich.console import Console

from tests.simulation.breakages import MUTATIONS, Mutation
from tests.simulation.search import Search

STEPS: Final = 1_000_000
SOUND_STEPS: Final = 10_000

_FUTURE: Final = "from __future__ import annotations\n"


@contextmanager
def applied(mutation: Mutation) -> Iterator[None]:
    """Break the code for a while.

    :raises LookupError: a piece of text is not there.
    """
    whole = _function(mutation)
    made: dict[str, Any] = {}
    code = compile(_FUTURE + patched(mutation), "broken", "exec")
    exec(code, whole.__globals__, made)  # noqa: S102 - our own code, broken on purpose
    before = whole.__code__
    whole.__code__ = inspect.unwrap(
        made[whole.__name__]
    ).__code__  # whoever has imported it, has it broken
    try:
        yield
    finally:
        whole.__code__ = before


def _function(mutation: Mutation) -> FunctionType:
    module_name, _, path = mutation.where.partition(":")
    module: Any = importlib.import_module(module_name)
    found = functools.reduce(getattr, path.split("."), module)
    return cast("FunctionType", inspect.unwrap(found))


def unknown_names(mutation: Mutation) -> set[str]:
    """Names that the broken function uses and its module does not know: those would be noticed."""
    codes, used = [compile(_FUTURE + patched(mutation), "broken", "exec")], set[str]()
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        used |= {each.argval for each in dis.get_instructions(code) if "GLOBAL" in each.opname}
    return used - _function(mutation).__globals__.keys() - vars(builtins).keys()


def patched(mutation: Mutation) -> str:
    """The text of the broken function.

    :raises LookupError: a piece of text is not there, or more than once.
    """
    text = textwrap.dedent(inspect.getsource(_function(mutation)))
    for old, new in mutation.changes:
        if text.count(old) != 1:
            found = text.count(old)
            raise LookupError(f"{mutation.name}: {old!r} stands {found} times in {mutation.where}")
        text = text.replace(old, new)
    return text


@dataclass(frozen=True, slots=True)
class Caught:
    """What the simulation found; empty when it found nothing."""

    problem: str
    runs: int
    steps: int
    seconds: float


def hunt(mutation: Mutation, seed: int, most_steps: int, first_run: int = 0) -> Caught:
    """Simulate with the breakage until a promise is broken.

    :param first_run: of the seed, where an earlier search has found something.
    """
    began, searching = time.monotonic(), Search(seed, runs=first_run)
    with applied(mutation):
        for _ in searching.go(most_steps):
            pass
    problem = searching.failed[0][1].problem if searching.failed else ""
    return Caught(problem, searching.runs - first_run, searching.steps, time.monotonic() - began)


def whole(seed: int) -> str:
    """What is wrong while nothing is broken: then everything would seem to be noticed."""
    searching = Search(seed)
    for _ in searching.go(SOUND_STEPS):
        pass
    return searching.failed[0][1].problem if searching.failed else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try each breakage; 1 when one was not noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutations")
    parser.add_argument("--steps", type=int, default=STEPS, help="calls to make at most, for each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="print the table of the docs")
    parser.add_argument("names", nargs="*", metavar="name", help="only these")
    given = parser.parse_args(arguments)
    if strange := set(given.names) - {each.name for each in MUTATIONS}:
        parser.error(f"there is no breakage {', '.join(sorted(strange))}")
    console = Console()
    missed, rows = 0, list[str]()
    if problem := whole(given.seed):
        console.print(f"Nothing is broken on purpose, and yet: {problem}", markup=False)
        return 1
    for mutation in MUTATIONS:
        if given.names and mutation.name not in given.names:
            continue
        with console.status(mutation.what):
            caught = hunt(mutation, given.seed, given.steps)
        missed += not caught.problem
        noticed = f"{caught.steps:>9,} calls" if caught.problem else "    NOT NOTICED"
        if not given.markdown:
            seen_as = caught.problem.partition("; by")[0][:90]
            line = f"{noticed}  {mutation.what}: {seen_as}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        rows.append(f"| {mutation.what} | {caught.steps if caught.problem else 'not noticed'} |")
    if given.markdown:
        print("\n".join(["| broken | calls until noticed |", "|---|---:|", *rows]))
        return 1 if missed else 0
    console.print(f"{missed} not noticed" if missed else "each was noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
