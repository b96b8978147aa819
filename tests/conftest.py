"""What this machine can run: tests that need Node or the AWS emulator are skipped with the reason.

`make` says where the emulator is, in the variable MINISTACK; without it the one that
`make emulator` installs into the checkout is used.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

import pytest

CHECKOUT: Final = Path(__file__).resolve().parent.parent
INFRA_TESTS: Final = CHECKOUT / "tests" / "infra"
NO_NODE: Final = "the AWS CDK needs Node 18 or newer, and this machine has none"
NO_EMULATOR: Final = "the AWS emulator is not installed; `make emulator` does that"


def has_node() -> bool:
    """Tell whether the CDK's libraries, which run on Node, can be imported."""
    return shutil.which("node") is not None


def emulator_executable() -> Path | None:
    """Find the AWS emulator's command, if it is installed."""
    default = CHECKOUT / ".venv-emulator" / "bin" / "ministack"
    found = shutil.which(os.environ.get("MINISTACK") or str(default))
    return Path(found) if found else None


@pytest.fixture(scope="module", autouse=True)
def _environment_is_left_as_it_was() -> Iterator[None]:
    """What one module sets in the process must not decide what a later one sees."""
    before = dict(os.environ)
    yield
    left = {name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)}
    assert left <= {"PYTEST_CURRENT_TEST"}, f"the environment was changed: {sorted(left)}"


class _NeedsNode(pytest.Module):
    """A test module that is not even imported: `import aws_cdk` starts Node."""

    def collect(self) -> NoReturn:
        pytest.skip(NO_NODE)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Skip the modules under tests/infra as a whole where there is no Node."""
    if has_node() or not module_path.is_relative_to(INFRA_TESTS):
        return None
    module: pytest.Module = _NeedsNode.from_parent(parent, path=module_path)
    return module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `emulator` or `e2e` where what they need is not installed.

    :raises pytest.UsageError: two tests have one name: pytest-xdist would run one of them only.
    """
    names = Counter(item.nodeid for item in items)
    if shared := [f"{name} ({times} times)" for name, times in names.items() if times > 1]:
        raise pytest.UsageError(f"tests share a name, so that some would not run: {shared}")
    without_emulator = emulator_executable() is None
    without_node = not has_node()
    for item in items:
        is_e2e = item.get_closest_marker("e2e") is not None
        if is_e2e and without_node:
            item.add_marker(pytest.mark.skip(reason=NO_NODE))
        if without_emulator and (is_e2e or item.get_closest_marker("emulator")):
            item.add_marker(pytest.mark.skip(reason=NO_EMULATOR))
