"""The tests of a module are where its name says: tests/unit repeats the folders of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ROOT / "tests" / "unit"
PACKAGE: Final = ROOT / "ojs_aws"

MODULES: Final = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
FILES: Final = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}


def test_each_folder_of_tests_is_one_of_the_package() -> None:
    """So that whoever looks for tests of a package finds the folder."""
    packages = {module.parent for module in MODULES}
    assert {file.parent for file in FILES} <= packages


def test_a_test_that_is_named_after_a_module_is_where_the_module_is() -> None:
    """`services/jobs/push.py` is tested by `services/jobs/test_push.py`, not by one elsewhere.

    A test of behaviour that several modules have together lies in the folder of them all, and is
    named after none.
    """
    misplaced = {
        str(file): places
        for file in FILES
        if (places := _places(file)) and file.parent not in places
    }
    assert misplaced == {}


def _places(file: Path) -> set[Path]:
    """Return where in the same layer there are modules or packages of a test's name."""
    name, layer = file.stem.removeprefix("test_"), file.parts[0]
    found = {module.parent for module in MODULES if module.stem == name}
    found |= {module.parent for module in MODULES if module.parent.name == name}
    found |= {module.parent.parent for module in MODULES if module.parent.name == name}
    return {place for place in found if place.parts[:1] == (layer,)}
