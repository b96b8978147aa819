"""The page on design principles names decisions that are there (EXT-002)."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "design-principles.md").read_text(encoding="utf-8")


def test_ext_002_each_principle_has_decisions() -> None:
    """Section 4 of the core specification has seven."""
    parts = re.split(r"^## (?=\d)", PAGE, flags=re.MULTILINE)[1:]
    assert [part.split(".")[0] for part in parts] == [str(number) for number in range(1, 8)]
    for part in parts:
        assert "(decisions/" in part


def test_a_decision_is_linked_under_its_own_number() -> None:
    for number, name in re.findall(r"\[(\d+)\]\(decisions/(\d{4}-[a-z0-9-]+\.md)\)", PAGE):
        assert int(name[:4]) == int(number)
        assert (DOCS / "decisions" / name).is_file()
