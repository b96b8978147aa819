"""Removes what guards the state of jobs, each thing once, and says what no test notices.

python -m tests.mutation                      # everything; goes on where it was interrupted
python -m tests.mutation --sample 60          # so many, drawn by --seed
python -m tests.mutation --base origin/main   # those in files that differ from a commit
python -m tests.mutation job_store:           # those whose names contain a text
"""

from __future__ import annotations

import argparse
import random
import subprocess
import time
from collections.abc import Mapping, Sequence

from tests.mutation.campaign import STAGES, Campaign
from tests.mutation.enumeration import all_mutants
from tests.mutation.mutants import CHECKOUT, Mutant
from tests.mutation.report import explained, write_page


def main(arguments: Sequence[str] | None = None) -> int:
    """Try removals; 1 when one survives that nobody has explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("names", nargs="*", help="only those whose name contains one of these")
    parser.add_argument("--sample", type=int, default=0, help="only so many, drawn by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--base", default="", help="only those in files that differ from a commit")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long")
    parser.add_argument("--most", type=int, default=0, help="tests for each, at each stage")
    parser.add_argument("--stages", type=int, default=len(STAGES), help="of folders of tests")
    parser.add_argument("--tests", nargs="+", help="folders of tests, instead of the usual ones")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="only name them")
    given = parser.parse_args(arguments)
    mutants = chosen(all_mutants(), given)
    if given.list:
        print("\n".join(each.id for each in mutants))
        return 0
    until = time.monotonic() + given.minutes * 60 if given.minutes else float("inf")
    reasons = explained()
    is_whole = len(mutants) == len(all_mutants())
    if not is_whole:  # all tests that reach it would have to run, for nothing
        mutants = [each for each in mutants if each.id not in reasons]
    campaign = Campaign(mutants, say, given.workers, until, given.most)
    left = campaign.run([given.tests] if given.tests else STAGES[: given.stages])
    problems = judge(campaign, left, reasons)
    for problem in problems:
        print(problem)
    survivors = sum(each.id not in reasons for each in left)
    print(f"{len(mutants)} removals, {len(mutants) - len(left)} noticed, {survivors} not")
    if is_whole and not problems:
        campaign.results.write_killers(mutants)
        write_page(mutants, campaign.results.hints(mutants), reasons)
    return 1 if problems and not campaign.was_cut else 0


def judge(campaign: Campaign, left: Sequence[Mutant], reasons: Mapping[str, str]) -> list[str]:
    """Return what is wrong: removals that survive, and explanations of some that do not."""
    found = []
    for mutant in left:
        reached = len(campaign.tried.get(mutant.id, ()))
        if campaign.was_cut:
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


def chosen(mutants: Sequence[Mutant], given: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that the arguments ask for."""
    wanted = [*mutants]
    if given.base:
        changed = changed_modules(given.base)
        wanted = [each for each in wanted if each.module in changed]
    if given.names:
        wanted = [each for each in wanted if any(name in each.id for name in given.names)]
    if given.sample and given.sample < len(wanted):
        drawn = random.Random(given.seed).sample(range(len(wanted)), given.sample)
        wanted = [wanted[at] for at in sorted(drawn)]
    return wanted


def changed_modules(base: str) -> set[str]:
    """Return the modules that differ from where this branch left a commit."""
    command = ["git", "diff", "--name-only", "--merge-base", base, "--", "*.py"]
    listed = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True)
    return {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in listed.stdout.splitlines()
    }


if __name__ == "__main__":
    raise SystemExit(main())
