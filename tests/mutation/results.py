"""What is known of mutants and of tests, kept between runs in build/mutation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.mutation.mutants import CHECKOUT, Mutant

FOLDER: Final = CHECKOUT / "build" / "mutation"
RESULTS: Final = FOLDER / "results.json"
TESTS: Final = FOLDER / "tests"
"""Has one file for each file of tests: which mutants they reach, each by its place in a list."""
KILLERS: Final = CHECKOUT / "tests" / "mutation" / "killers.json"
"""Which test noticed each removal when everything was last tried: where to look first."""


@cache
def digest(path: str) -> str:
    """Return a hash of a file of the checkout; empty where there is none."""
    file = CHECKOUT / path
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def module_digest(module: str) -> str:
    """Return a hash of a module's file."""
    plain = module.replace(".", "/")
    return digest(f"{plain}.py") or digest(f"{plain}/__init__.py")


def file_of(test: str) -> str:
    """Return the file that a test is in."""
    return test.partition("::")[0]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant.

    :ivar killer: the test that noticed it; empty where none did.
    :ivar tried: how many tests ran.
    :ivar module: hash of the module then; ``test``: of the killer's file.
    """

    killer: str
    tried: int
    module: str
    test: str

    def is_valid_for(self, mutant: Mutant) -> bool:
        """Return whether module and killer are still the same; a survivor is always tried again."""
        return (
            bool(self.killer)
            and self.module == module_digest(mutant.module)
            and self.test == digest(file_of(self.killer))
        )


def result_of(mutant: Mutant, killer: str, tried: int) -> Result:
    """Return a result with the hashes of now."""
    test = digest(file_of(killer)) if killer else ""
    return Result(killer, tried, module_digest(mutant.module), test)


@dataclass(slots=True)
class Results:
    """The results of mutants, by their names."""

    known: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Results:
        """Read what earlier runs found."""
        kept = _read(RESULTS)
        return cls({name: Result(**each) for name, each in kept.items()})

    def note(self, mutant: Mutant, result: Result) -> None:
        """Remember a result; a run that is interrupted goes on here."""
        self.known[mutant.id] = result
        _write(RESULTS, {name: asdict(each) for name, each in self.known.items()})

    def hints(self, mutants: Iterable[Mutant]) -> dict[str, str]:
        """Return the test that noticed each mutant the last time, as far as it is known."""
        found = self.killers()
        return {each.id: found[each.id] for each in mutants if each.id in found}

    def killers(self) -> dict[str, str]:
        """Return the tests that noticed something the last time, by the names of the mutants."""
        found: dict[str, str] = {}
        for test, names in _read(KILLERS).items():
            found |= dict.fromkeys(names, test)
        return found | {name: each.killer for name, each in self.known.items() if each.killer}

    def write_killers(self, mutants: Sequence[Mutant]) -> None:
        """Write down which test noticed which mutant, for those who try few of them."""
        killers: dict[str, list[str]] = {}
        hints = self.hints(mutants)
        for mutant in mutants:
            if mutant.id in hints:
                killers.setdefault(hints[mutant.id], []).append(mutant.id)
        ordered = {test: sorted(killers[test]) for test in sorted(killers)}
        KILLERS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")


@dataclass(slots=True)
class Coverage:
    """Which mutants each test reaches, and how long it takes, by the tests' files."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Coverage:
        """Read what earlier runs found."""
        kept = [_read(each) for each in sorted(TESTS.glob("*.json"))]
        return cls({each["file"]: each for each in kept})

    def is_fresh(self, file: str, modules: Iterable[str]) -> bool:
        """Return whether what its tests reach of some modules is still known.

        A module that changed is only looked at again by tests that have reached it before.
        """
        kept = self.files.get(file)
        if kept is None or kept["digest"] != digest(file):
            return False
        known: dict[str, str] = kept["modules"]
        reached = {name.partition(":")[0] for name in kept["reached"]}
        return all(
            module in known and (module not in reached or known[module] == module_digest(module))
            for module in modules
        )

    def note(
        self, file: str, mutants: Sequence[Mutant], found: Mapping[str, Sequence[Any]]
    ) -> None:
        """Remember what the tests of a file reach."""
        reached = sorted({number for _, numbers in found.values() for number in numbers})
        places = {number: place for place, number in enumerate(reached)}
        self.files[file] = {
            "file": file,
            "digest": digest(file),
            "modules": {each.module: module_digest(each.module) for each in mutants},
            "reached": [mutants[number].id for number in reached],
            "tests": {
                test: [took, [places[number] for number in numbers]]
                for test, (took, numbers) in found.items()
            },
        }
        _write(TESTS / f"{file.replace('/', '.')}.json", self.files[file])

    def reaching(self, files: Iterable[str]) -> dict[str, list[tuple[float, str]]]:
        """Return for each mutant the tests that reach it, with what makes one come late.

        That is how long it takes, and how much else it reaches: who reaches little looks closely.
        """
        found: dict[str, list[tuple[float, str]]] = {}
        for file in files:
            kept = self.files.get(file, {"tests": {}})
            for test, (took, places) in kept["tests"].items():
                for place in places:
                    cost = max(took, 0.05) * len(places)
                    found.setdefault(kept["reached"][place], []).append((cost, test))
        return found

    def seconds(self, test: str) -> float:
        """Return how long a test takes, as far as it is known."""
        kept = self.files.get(file_of(test), {"tests": {}})
        return float(kept["tests"].get(test, (2.0, ()))[0])

    def tests_of(self, files: Iterable[str]) -> list[str]:
        """Return the tests of some files."""
        return [test for file in files for test in self.files.get(file, {}).get("tests", ())]


def _read(path: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return kept


def _write(path: Path, kept: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(kept), "utf-8")
    part.rename(path)
