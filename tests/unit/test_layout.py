"""The tests of a module are where its name says: tests/unit repeats the folders of the package."""

from __future__ import annotations

import ast
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


def test_requests_of_tests_wait_as_long_as_a_busy_machine_needs() -> None:
    """A request waits five seconds if nothing is said, which a busy machine may take to answer."""
    impatient = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        if "httpx." in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and _is_impatient(node)
    ]
    assert impatient == []


def _is_impatient(call: ast.Call) -> bool:
    """Return whether a call of httpx goes over the network and says no timeout."""
    said = {keyword.arg for keyword in call.keywords}
    sends = {f"httpx.{name}" for name in ("Client", "get", "post", "put", "delete", "request")}
    return ast.unparse(call.func) in sends and not {"timeout", "transport"} & said


def test_services_and_transport_name_stores_for_their_types_alone() -> None:
    """The composition root makes the stores: a function loads those that its routes need."""
    above = [module for module in MODULES if module.parts[0] in ("services", "transport")]
    loading = [str(module) for module in above if _loads_stores(PACKAGE / module)]
    assert loading == []


def _loads_stores(path: Path) -> bool:
    """Return whether a module imports a store when it runs, not only for its types."""
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ojs_aws.adapters"):
            return True
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            nodes += ast.iter_child_nodes(node)
    return False
