"""Runs the tests of an application inside a test, in this process or in one of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).resolve().parent.parent
PLUGIN: Final = "ojs_aws.testing.plugin"

UNUSED: Final = ("cacheprovider", "schemathesis", "hypothesispytest", "typeguard")
"""Plugins that inner tests do not use; importing them takes two seconds of each run."""

WITHOUT_UNUSED: Final = tuple(part for name in UNUSED for part in ("-p", f"no:{name}"))

IMPORTED: Final[dict[str, ModuleType]] = {}
"""What inner tests have imported, without the modules that they are."""


class _Imports:
    """Notes what inner tests have imported, before pytester forgets it."""

    def pytest_unconfigure(self) -> None:
        """Note all modules but those of the folder."""
        folder = str(Path.cwd())
        for name, module in sys.modules.items():
            file = getattr(module, "__file__", None)
            if file and not file.startswith(folder):
                IMPORTED.setdefault(name, module)


def run_inner_tests(folder: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests in a folder, with the plugin of ojs_aws."""
    return folder.runpytest_inprocess("-p", PLUGIN, *WITHOUT_UNUSED, *options, plugins=[_Imports()])


def run_inner_process(folder: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run them in a process of their own.

    It works in their folder, from which a PYTHONPATH of ``.`` does not lead to ojs_aws.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(CHECKOUT))
        return folder.runpytest_subprocess("-p", PLUGIN, *WITHOUT_UNUSED, *options)
