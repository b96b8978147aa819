"""Runs chosen tests of a collected session, with a mutant in place or with notes of what runs."""

from __future__ import annotations

import gc
import importlib
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import zip_longest
from typing import Any, Final, NoReturn

import pytest
from botocore.loaders import JSONFileLoader

from tests.aws import embedded
from tests.mutation.enumeration import mutants_of
from tests.mutation.mutants import Mutant, path_of, read_source
from tests.mutation.patching import Notes, apply, notes_of

ARGUMENTS: Final = (
    "-o",
    "addopts=",
    "--import-mode=importlib",
    "--strict-markers",
    "-m",
    "not emulator and not e2e and not slow",
    "-p",
    "no:terminal",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:unraisableexception",
    "-s",
)


TEST_LIMIT_S: Final = 45
"""How much processor time a test may take before it counts as endless, and so as failed.

A test that waits for ever takes none; its process has a limit by the clock."""


def _endless(_signal: int, _frame: object) -> NoReturn:
    pytest.fail("it goes on and on")


class Session:
    """A pytest session whose tests are run by our own choice.

    :ivar work: what to do once the tests are collected.
    """

    def __init__(self, work: Callable[[Session], None]) -> None:
        self._work = work
        self.items: dict[str, pytest.Item] = {}
        self._failed: list[str] = []
        self._skipped = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        gc.collect()
        gc.freeze()
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)
        self._skipped = self._skipped or report.skipped

    def first_failure(self, names: Sequence[str]) -> str:
        """Run tests in order until one fails, or goes on and on; return its name."""
        signal.signal(signal.SIGPROF, _endless)
        items = [self.items[name] for name in names if name in self.items]
        for item, following in zip_longest(items, items[1:]):
            self._failed.clear()
            signal.setitimer(signal.ITIMER_PROF, TEST_LIMIT_S)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if self._failed:
                with suppress(Exception):
                    item.session._setupstate.teardown_exact(None)
                return self._failed[0]
        return ""

    def notes(self, names: Sequence[str], reached: set[int]) -> dict[str, tuple[float, list[int]]]:
        """Run tests; return how long each took, and what it reached, unless it failed."""
        items = [self.items[name] for name in names]
        found: dict[str, tuple[float, list[int]]] = {}
        for item, following in zip_longest(items, items[1:]):
            self._failed.clear()
            self._skipped = False
            reached.clear()
            began = time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if not self._failed and not self._skipped:
                took = round(time.perf_counter() - began, 3)
                found[item.nodeid] = (took, sorted(reached))
        return found


def collect(paths: Sequence[str], work: Callable[[Session], None]) -> None:
    """Collect the tests of some files and folders, and do some work with them."""
    session = Session(work)
    code = pytest.main([*ARGUMENTS, *paths], plugins=[session])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise RuntimeError(f"pytest ended with {code}")


def kill(session: Session, mutant: Mutant, names: Sequence[str]) -> str:
    """Put a mutant in place, and return the first test that fails; empty when none does."""
    source = read_source(path_of(mutant.module))
    same = next(each for each in mutants_of(source) if each.id == mutant.id)
    apply(source, same)
    return session.first_failure(names)


def notes_about(mutants: Sequence[Mutant]) -> Notes:
    """Return what notes which of some mutants are reached, by their places in the list."""
    numbers = {mutant.id: number for number, mutant in enumerate(mutants)}
    sources = [read_source(path_of(each)) for each in sorted({mutant.module for mutant in mutants})]
    same = [each for source in sources for each in mutants_of(source)]
    return notes_of(sources, [(numbers[each.id], each) for each in same if each.id in numbers])


def note(
    session: Session, notes: Notes, names: Sequence[str]
) -> dict[str, tuple[float, list[int]]]:
    """Run tests; return how long each took, and which mutants it reached, by their numbers."""
    reached = set[int]()
    notes.install(reached)
    return session.notes(names, reached)


def prepare(mutants: Sequence[Mutant]) -> None:
    """Do before the first fork what every process would have to do: import, and start moto."""
    for module in {mutant.module for mutant in mutants}:
        importlib.import_module(module)
    _keep_models()
    with embedded():
        pass


@cache
def _keep_models() -> None:
    """Let botocore read each of its models once, not once for each test."""
    read: Callable[..., object] = JSONFileLoader.load_file
    kept: dict[str, object] = {}

    def load_file(self: JSONFileLoader, path: str) -> object:
        if path not in kept:
            kept[path] = read(self, path)
        return kept[path]

    vars_of: Any = JSONFileLoader
    vars_of.load_file = load_file
