"""The files of docs/migrating-from-celery.md are a shop whose tests pass."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.inner_tests import run_inner_tests
from tests.unit.test_docs_testing import SETTINGS

pytest_plugins = ["pytester"]

PAGE: Final = Path(__file__).parents[3] / "docs" / "migrating-from-celery.md"
TEXT: Final = PAGE.read_text("utf-8")
FILES: Final = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", TEXT, re.DOTALL))


@pytest.fixture(autouse=True)
def _forget_shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test's package of this name is found, and this one by no other test."""
    for name in [name for name in sys.modules if name.split(".")[0] == "shop"]:
        monkeypatch.delitem(sys.modules, name)


def test_the_tests_of_the_page_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OJS_URL", raising=False)
    (test,) = re.findall(r"<!-- test -->\n```python\n(.*?)```", TEXT, re.DOTALL)
    for name, text in {**FILES, "shop/__init__.py": "", "test_shop.py": test}.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(pytester.path)
    pytester.makeini(SETTINGS)
    run_inner_tests(pytester, "test_shop.py").assert_outcomes(passed=2)


def test_every_block_of_python_has_a_test() -> None:
    assert TEXT.count("```python") == len(FILES) + 2
