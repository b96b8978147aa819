"""Tries mutants: by the tests that noticed them before, then by all tests that reach them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Final

from tests.mutation.enumeration import all_mutants, mutants_of
from tests.mutation.mutants import CHECKOUT, DECISIONS, Mutant, path_of, read_source
from tests.mutation.patching import constants_of
from tests.mutation.playing import Session, collect, kill, note, notes_about, prepare
from tests.mutation.processes import Answer, Task, run_all
from tests.mutation.results import Coverage, Results, file_of, result_of

STAGES: Final = (
    (
        "tests/contract",
        "tests/unit/domain",
        "tests/unit/services",
        "tests/unit/testing",
        "tests/unit/typed_jobs",
        "tests/unit/pricing",
        "tests/unit/worker",
    ),
    ("tests/functions", "tests/unit/transport", "tests/upgrade", "tests/faults"),
    ("tests/unit", "tests/simulation", "tests/conformance"),
)
"""Where the tests are that matter, the nearest first; one that nothing there notices survives."""

FILE_LIMIT_S: Final = 1200.0
NEAREST: Final = 60
NEAREST_S: Final = 15.0
"""How many tests are tried for a decision, at each stage, and for how many seconds: a test near to
it has to notice."""
SLOWNESS: Final = 10.0
"""How much longer than before tests may take before a mutant counts as endless."""

Say = Callable[[str], None]


@dataclass(slots=True)
class Campaign:
    """Tries mutants, as long as there is time.

    :ivar until: when to stop, by the monotonic clock.
    :ivar near: files of tests that come first, as they have changed, with those that notice other
        things in the same modules; None: no files come first.
    :ivar drawn: the ids of those that chance has chosen: if the time is over, they count as
        unnoticed only if the test that noticed them before, and the nearest ones, do not any more.
    :ivar believed: the ids of those that are explained: if nothing else is left after the tests
        near to them, the run ends.
    :ivar most: how many tests to try for each mutant, at each stage; 0: all that reach it.
    :ivar broken: what could not be tried, and why.
    :ivar late: those that counted as noticed only because their tests took too long.
    :ivar unnoticed: those that the nearest tests did not notice, all of which ran.
    :ivar was_cut: whether the time was over before everything was tried.
    :ivar tried: the tests that did not notice a mutant.
    """

    mutants: Sequence[Mutant]
    say: Say
    workers: int = 2
    until: float = float("inf")
    most: int = 0
    near: Sequence[str] | None = ()
    drawn: frozenset[str] = frozenset()
    believed: frozenset[str] = frozenset()
    results: Results = field(default_factory=Results.read)
    tests: Coverage = field(default_factory=Coverage.read)
    broken: dict[str, str] = field(default_factory=dict)
    tried: dict[str, set[str]] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)
    unnoticed: set[str] = field(default_factory=set)
    was_cut: bool = False

    def left(self) -> list[Mutant]:
        """Return the mutants that nothing has noticed yet."""
        known = self.results.known
        return [
            each
            for each in self.mutants
            if not (each.id in known and known[each.id].is_valid_for(each))
        ]

    def run(self, stages: Sequence[Sequence[str]] = STAGES) -> list[Mutant]:
        """Try all; return those that survive, or that there was no time for."""
        hinted = self._try_hints()
        near = self._near_files(self._certain(hinted))
        self._try_files(near)
        if not self._is_over():
            self.unnoticed = {each.id for each in self._certain(hinted)}
        done = {*near}
        for folders in stages:
            if all(each.id in self.believed for each in self.left()):
                break
            files = [each for each in test_files(folders) if each not in done]
            done.update(files)
            self._try_files(files)
        left = self.left()
        self.was_cut = bool(left) and self._is_over()
        for mutant in left:
            self.results.note(mutant, result_of(mutant, "", len(self.tried.get(mutant.id, ()))))
        return left

    def _certain(self, hinted: Collection[str]) -> list[Mutant]:
        """Return those that are left and that a test near to them is known, or has, to notice."""
        return [each for each in self.left() if each.id not in self.drawn or each.id in hinted]

    def _near_files(self, left: Sequence[Mutant]) -> list[str]:
        """Return the files of tests that changed, or notice other things in the same modules."""
        if self.near is None:
            return []
        modules = {each.module for each in left}
        near = {
            file_of(test)
            for name, test in self.results.killers().items()
            if name.partition(":")[0] in modules
        }
        return sorted(each for each in {*near, *self.near} if (CHECKOUT / each).is_file())

    def _is_over(self) -> bool:
        return time.monotonic() > self.until

    # ------------------------------------------------------------------------- steps
    def _try_files(self, files: Sequence[str]) -> None:
        left = self.left()
        if not left or self._is_over():
            return
        self._try_reaching(files, left)  # by what they reached before
        left = self.left()
        if left and self._map(files, left):
            self._try_reaching(files, left)

    def _try_hints(self) -> frozenset[str]:
        """Try the tests that noticed mutants the last time; return the ids of these."""
        left = self.left()
        hints = self.results.hints(left)
        chosen = {
            name: [test] for name, test in hints.items() if (CHECKOUT / file_of(test)).exists()
        }
        for each in left:
            if each.id not in chosen:
                self.say(f"  no test noticed it before: {each.id}")
        if chosen:
            self.say(f"{len(chosen)} removals by the test that noticed them before")
            self._try({each.id: each for each in left}, chosen)
        return frozenset(chosen)

    def _map(self, files: Sequence[str], left: Sequence[Mutant]) -> bool:
        """Find out which tests of some files reach what is left; False when that is known."""
        modules = {each.module for each in left}
        stale = [file for file in files if not self.tests.is_fresh(file, modules)]
        if not stale:
            return False
        self.say(f"which tests of {len(stale)} files reach what is left")
        whole = all_mutants()  # so that it serves whoever looks for others later

        def work(session: Session) -> None:
            prepare(whole)
            notes = notes_about(whole)
            tasks = []
            for file in stale:
                names = [name for name in session.items if file_of(name) == file]
                tasks.append(Task(file, partial(note, session, notes, names), FILE_LIMIT_S))
            for answer in self._in_time(tasks):
                if answer.problem:
                    self.say(f"  {answer.name}: {answer.problem.strip().splitlines()[-1]}")
                else:
                    self.tests.note(answer.name, whole, answer.value)

        self._collect(stale, work)
        return True

    def _try_reaching(self, files: Sequence[str], left: Sequence[Mutant]) -> None:
        reaching = self.tests.reaching(files)
        chosen = {}
        for mutant in left:
            before = self.tried.get(mutant.id, set())
            named = self._files_naming(mutant, files) if not mutant.function else []
            tests = dict.fromkeys(
                [
                    *nearest_first(mutant.module, reaching.get(mutant.id, ())),
                    *self.tests.tests_of(named),
                ]
            )
            left_over = [test for test in tests if test not in before]
            if left_over:
                chosen[mutant.id] = self._enough(mutant, left_over)
        if chosen:
            self.say(f"{len(chosen)} removals by the tests that reach them")
            self._try({each.id: each for each in left}, chosen)

    def _enough(self, mutant: Mutant, tests: Sequence[str]) -> list[str]:
        """Return the first of some tests, of which one has to notice a mutant."""
        if self.most or mutant.removal.kind not in DECISIONS:
            return [*tests[: self.most or None]]
        spent, chosen = 0.0, list[str]()
        for test in tests[:NEAREST]:
            if spent >= NEAREST_S:
                break
            spent += self.tests.seconds(test)
            chosen.append(test)
        return chosen

    def _files_naming(self, mutant: Mutant, files: Sequence[str]) -> list[str]:
        """Return the files of tests that name the constant which a mutant changes."""
        source = read_source(path_of(mutant.module))
        same = next((each for each in mutants_of(source) if each.id == mutant.id), mutant)
        names = [rf"\b{name}\b" for name in constants_of(source, same)]
        if not names:
            return []
        pattern = re.compile("|".join(names))
        return [file for file in files if pattern.search((CHECKOUT / file).read_text("utf-8"))]

    def _try(self, mutants: dict[str, Mutant], chosen: dict[str, list[str]]) -> None:
        def work(session: Session) -> None:
            prepare([*mutants.values()])
            tasks = []
            for gone in sorted({*chain(*chosen.values())} - session.items.keys()):
                self.say(f"  there is no such test any more: {gone}")
            for name, tests in chosen.items():
                limit = 30 + SLOWNESS * sum(map(self.tests.seconds, tests))
                tasks.append(Task(name, partial(kill, session, mutants[name], tests), limit))
            for answer in self._in_time(tasks):
                self._judge(mutants[answer.name], chosen[answer.name], answer)

        self._collect(sorted({file_of(test) for tests in chosen.values() for test in tests}), work)

    def _judge(self, mutant: Mutant, tests: Sequence[str], answer: Answer) -> None:
        if answer.is_late:  # it goes on for ever: whoever runs the tests sees that
            self.late.add(mutant.id)
            self.results.note(mutant, result_of(mutant, tests[0], len(tests)))
        elif answer.problem:
            self.broken[mutant.id] = answer.problem
        elif answer.value:
            self.results.note(mutant, result_of(mutant, str(answer.value), len(tests)))
        else:
            self.tried.setdefault(mutant.id, set()).update(tests)
            self.say(f"  - {mutant.id} ({len(tests)} tests)")
            return
        self.say(f"  {'?' if mutant.id in self.broken else 'x'} {mutant.id}")

    # ------------------------------------------------------------------------- processes
    def _in_time(self, tasks: Iterable[Task]) -> Iterable[Answer]:
        """Run tasks, none of which begins after the time is over."""

        def begun() -> Iterable[Task]:
            for task in tasks:
                if not self._is_over():
                    yield task

        return run_all(begun(), self.workers)

    def _collect(self, files: Sequence[str], work: Callable[[Session], None]) -> None:
        """Do some work with the tests of some files, in this process."""
        collect([str(CHECKOUT / file) for file in files], work)


def nearest_first(module: str, costs: Iterable[tuple[float, str]]) -> list[str]:
    """Return tests, those with the names of a module and its packages first, then by their cost."""
    names = {*module.split(".")}

    def place(row: tuple[float, str]) -> tuple[int, float]:
        cost, test = row
        parts = file_of(test).removesuffix(".py").replace("/test_", "/").split("/")
        return -len(names.intersection(parts)), cost

    return [test for _, test in sorted(costs, key=place)]


def test_files(folders: Iterable[str]) -> list[str]:
    """Return the files of tests in some folders; a file stands for itself."""
    return [
        str(path.relative_to(CHECKOUT))
        for each in map(CHECKOUT.joinpath, folders)
        for path in ([each] if each.is_file() else sorted(each.rglob("test_*.py")))
    ]
