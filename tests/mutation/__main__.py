"""Removes or changes each guard and each decision once, and says what no test notices.

python -m tests.mutation                      # everything; goes on where it was interrupted
python -m tests.mutation --sample 60          # so many, drawn by --seed
python -m tests.mutation --base origin/main   # those in files that differ from a commit
python -m tests.mutation --base origin/main --also 200  # and so many of the others
python -m tests.mutation job_store:           # those whose names contain a text
python -m tests.mutation --doubt              # every test tries the explained ones, too
"""

from __future__ import annotations

import argparse
import random
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.mutation.campaign import STAGES, Campaign
from tests.mutation.enumeration import all_mutants
from tests.mutation.mutants import CHECKOUT, Mutant
from tests.mutation.report import explained, write_page

USUAL: Final = tuple(f"{folder}/" for stage in STAGES for folder in stage)
"""Where tests are that may notice something."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try removals; 1 when one survives that nobody has explained."""
    given = parser().parse_args(arguments)
    whole = all_mutants()
    mutants = chosen(whole, given)
    if given.list:
        print("\n".join(each.id for each in mutants))
        return 0
    until = time.monotonic() + given.minutes * 60 if given.minutes else float("inf")
    reasons = explained()
    is_whole = len(mutants) == len(whole)
    if not is_whole:
        mutants = [each for each in mutants if each.id not in reasons]
    near = None if given.tests else changed_tests(given.base)
    drawn_ids = frozenset(each.id for each in mutants) - asked_for(whole, given)
    believed = frozenset[str]() if given.doubt else frozenset(reasons)
    campaign = Campaign(mutants, say, given.workers, until, given.most, near, drawn_ids, believed)
    left = campaign.run([given.tests] if given.tests else STAGES[: given.stages])
    problems = judge(campaign, left, reasons)
    for problem in problems:
        print(problem)
    survivors = sum(each.id not in reasons for each in left)
    print(f"{len(mutants)} removals, {len(mutants) - len(left)} noticed, {survivors} not")
    if is_whole and not problems:
        campaign.results.write_killers(mutants)
        write_page(whole, campaign.results.hints(mutants), reasons)
    is_sure = not campaign.was_cut or any(each.id in campaign.unnoticed for each in left)
    return 1 if problems and is_sure else 0


def parser() -> argparse.ArgumentParser:
    """Return what reads the arguments."""
    made = argparse.ArgumentParser(prog="python -m tests.mutation")
    made.add_argument("names", nargs="*", help="only those whose name contains one of these")
    made.add_argument("--sample", type=int, default=0, help="only so many, drawn by chance")
    made.add_argument("--seed", default="1")
    made.add_argument("--base", default="", help="only those in files that differ from a commit")
    made.add_argument("--also", type=int, default=0, help="so many others, drawn by chance")
    made.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    made.add_argument("--most", type=int, default=0, help="tests for each, at each stage")
    made.add_argument("--stages", type=int, default=len(STAGES), help="of folders of tests")
    made.add_argument("--tests", nargs="+", help="folders or files of tests")
    made.add_argument("--workers", type=int, default=2)
    made.add_argument(
        "--doubt", action="store_true", help="try the explained ones by every test, for hours"
    )
    made.add_argument("--list", action="store_true", help="only name them")
    return made


def judge(campaign: Campaign, left: Sequence[Mutant], reasons: Mapping[str, str]) -> list[str]:
    """Return what is wrong: removals that survive, and explanations of some that do not."""
    found = []
    for mutant in left:
        reached = len(campaign.tried.get(mutant.id, ()))
        if campaign.was_cut and mutant.id not in campaign.unnoticed:
            found.append(f"no time was left for: {mutant.id}")
        elif mutant.id not in reasons and mutant.id not in campaign.broken:
            found.append(f"not noticed by the {reached} tests that reach it: {mutant.id}")
    for name, problem in campaign.broken.items():
        found.append(f"cannot be tried: {name}: {problem.strip().splitlines()[-1]}")
    known, names = campaign.results.known, {each.id for each in left}
    found += [
        f"explained, but {known[mutant.id].killer} notices it: {mutant.id}"
        for mutant in campaign.mutants
        if mutant.id in reasons and mutant.id not in names and mutant.id not in campaign.late
    ]  # a busy machine is late with what does the same
    return found


def say(line: str) -> None:
    """Report progress."""
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def asked_for(mutants: Sequence[Mutant], given: argparse.Namespace) -> frozenset[str]:
    """Return the ids of the mutants that no chance chooses."""
    return frozenset() if given.sample else frozenset(each.id for each in _wanted(mutants, given))


def _wanted(mutants: Sequence[Mutant], given: argparse.Namespace) -> list[Mutant]:
    wanted = [*mutants]
    if given.base:
        changed = changed_modules(given.base)
        wanted = [each for each in wanted if each.module in changed]
    if given.names:
        wanted = [each for each in wanted if any(name in each.id for name in given.names)]
    return wanted


def chosen(mutants: Sequence[Mutant], given: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that the arguments ask for."""
    wanted = _wanted(mutants, given)
    if given.sample:
        wanted = drawn(wanted, given.sample, given.seed)
    names = {each.id for each in wanted}
    others = [each for each in mutants if each.id not in names]
    return wanted + drawn(others, given.also, given.seed)


def drawn(mutants: Sequence[Mutant], count: int, seed: str) -> list[Mutant]:
    """Return some mutants, drawn by chance, in their order."""
    places = range(len(mutants))
    return [
        mutants[at] for at in sorted(random.Random(seed).sample(places, min(count, len(places))))
    ]


def changed_modules(base: str) -> set[str]:
    """Return the modules that differ from where this branch left a commit."""
    return {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in changed_files(base)
    }


def changed_tests(base: str) -> list[str]:
    """Return the files of tests that differ from where this branch left a commit."""
    return [
        each
        for each in (changed_files(base) if base else ())
        if each.startswith(USUAL) and Path(each).name.startswith("test_")
    ]


def changed_files(base: str) -> list[str]:
    """Return the files of Python that differ from where this branch left a commit."""
    command = ["git", "diff", "--name-only", "--merge-base", base, "--", "*.py"]
    listed = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


if __name__ == "__main__":
    raise SystemExit(main())
