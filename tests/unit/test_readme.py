"""What the README says is so; tests/unit/local runs its blocks against a server."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.inner_tests import run_inner_tests

pytest_plugins = ["pytester"]

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text()
MOST_LINES: Final = 150
THREADS: Final = (
    "https://github.com/celery/celery/issues/3270",
    "https://github.com/laravel/vapor-docs/pull/24",
    "https://github.com/celery/celery/issues/3197",
    "https://github.com/celery/kombu/pull/2049",
    "https://github.com/aws-powertools/powertools-lambda-python/issues/92",
)


def test_the_page_is_short_and_has_its_threads() -> None:
    """Settings and bounds are pages of the reference."""
    assert len(README.splitlines()) < MOST_LINES
    assert [url for url in THREADS if url not in README] == []
    (shop,) = re.findall(r"<!-- example: declare -->\n```python\n(.*?)```", README, re.DOTALL)
    assert len(shop.splitlines()) <= 12


def test_the_ends_of_the_price_are_those_of_the_table() -> None:
    """The cheapest and the dearest way of a job of 0.5 KB in docs/costs.md."""
    page = (ROOT / "docs" / "costs.md").read_text()
    table = page.partition("<!-- table: paths -->")[2].partition("<!-- end of table -->")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.strip().splitlines()]
    prices = [float(cell) for row in rows[2:] for cell in row[-2:]]
    assert f"are ${min(prices):.0f} for jobs that programs inside AWS" in README.replace("\n", " ")
    assert f"and ${max(prices):.0f} for rare ones that send a heartbeat" in README


def test_the_readmes_test_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a server, and without a setting of pytest: no line of it is asynchronous."""
    monkeypatch.delenv("OJS_URL", raising=False)
    examples = dict(re.findall(r"<!-- example: (\w+) -->\n```python\n(.*?)```", README, re.DOTALL))
    for name in ("shop", "test_shop"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (pytester.path / "shop.py").write_text(examples["declare"])
    (pytester.path / "test_shop.py").write_text(examples["test"])
    monkeypatch.syspath_prepend(pytester.path)
    run_inner_tests(pytester, "test_shop.py").assert_outcomes(passed=1)
