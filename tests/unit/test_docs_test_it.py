"""Each guide of a feature ends with a section "Test it", whose tests pass."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.inner_tests import run_inner_tests
from tests.unit.test_docs_testing import SETTINGS

pytestmark = pytest.mark.thorough

pytest_plugins = ["pytester"]

DOCS: Final = Path(__file__).parents[2] / "docs"
GUIDES: Final = {
    "batches": 0,
    "bounded-queues": 1,
    "bulk": 0,
    "clients": 0,
    "cron": 0,
    "delays": 1,
    "durations": 1,
    "events": 0,
    "export": 0,
    "fastapi": 1,
    "job-versions": 0,
    "limits": 0,
    "middleware": 1,
    "migrating-from-rq-sidekiq": 1,
    "migrating-from-sqs": 2,
    "operations-dead-letters": 0,
    "outbox": 1,
    "payload-limits": 1,
    "personal-data": 1,
    "priority": 1,
    "progress": 0,
    "queues": 0,
    "queues-pause": 0,
    "results": 0,
    "retries": 1,
    "schemas": 0,
    "transactional-enqueue": 0,
    "typed-jobs": 1,
    "unique-jobs": 0,
    "web-frameworks": 1,
    "workers": 1,
    "workflows": 1,
}
"""How many of a page's first blocks its tests need."""


FREE: Final = {
    "clients",
    "durations",
    "migrating-from-rq-sidekiq",
    "operations-dead-letters",
    "personal-data",
    "web-frameworks",
}
"""Guides whose subject has no price of its own."""


def section_of(page: str) -> str:
    """Return the section of a page; the last one, but for tables of requirements."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    found = re.search(
        r"^## Test it\n(.*?)(?=^## Which test proves what|\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert found is not None, f"docs/{page}.md does not end with a section: Test it"
    assert "\n## " not in found[1]
    return found[1]


def test_each_guide_of_a_feature_says_what_it_costs() -> None:
    """And shows code at its beginning."""
    for page in GUIDES.keys() - FREE:
        text = (DOCS / f"{page}.md").read_text("utf-8")
        beginning = "".join(text.split("\n## ")[:2])
        assert "```python" in beginning, page
        assert re.search(r"^## .*\bcosts?\b", text, re.MULTILINE), page


@pytest.mark.parametrize("page", GUIDES)
def test_the_tests_of_a_guide_pass(
    page: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what the page declares before them."""
    monkeypatch.delenv("OJS_URL", raising=False)
    monkeypatch.delitem(sys.modules, "test_guide", raising=False)
    section = section_of(page)
    assert "testing.md" in section
    tests = re.findall(r"<!-- test -->\n```python\n(.*?)```", section, re.DOTALL)
    assert tests
    text = (DOCS / f"{page}.md").read_text("utf-8")
    before = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[: GUIDES[page]]
    code = "\n\n".join([*before, *tests])
    (pytester.path / "test_guide.py").write_text(code)
    pytester.makeini(SETTINGS)
    result = run_inner_tests(pytester)
    result.assert_outcomes(passed=len(re.findall(r"^(?:async )?def test_", code, re.MULTILINE)))
