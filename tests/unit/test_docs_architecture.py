"""The code map of docs/architecture.md names files that are there, and its recipes are short."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "architecture.md").read_text("utf-8")
RECIPES: Final = re.findall(r"^### (Add .+?)\n(.*?)(?=^##)", PAGE, re.DOTALL | re.MULTILINE)
MOST_FILES: Final = 6


def test_every_file_that_the_page_names_is_there() -> None:
    """Paths with a folder; they start in the repository or in the package."""
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", PAGE))
    assert "adapters/dynamodb/names.py" in named
    assert not {
        path
        for path in named
        if not (ROOT / path).exists() and not (ROOT / "ojs_aws" / path).exists()
    }


def test_a_recipe_has_at_most_six_steps() -> None:
    """A job attribute, an operation, a setting of a queue; each step is one file."""
    assert [title for title, _ in RECIPES] == [
        "Add a job attribute",
        "Add an operation",
        "Add a setting of a queue",
    ]
    for title, text in RECIPES:
        steps = re.findall(r"^(\d)\. ", text, re.MULTILINE)
        assert steps == [str(number + 1) for number in range(len(steps))], title
        assert len(steps) <= MOST_FILES, title
