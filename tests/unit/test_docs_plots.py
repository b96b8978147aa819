"""Each plot of the docs is on a page, and a command draws it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

from benchmarks import compare, docs_plots
from benchmarks.pages import DOCS, PLOTS

DRAWN: Final = {path.stem for path in PLOTS.glob("*.svg")}


def test_each_plot_is_on_a_page() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in DOCS.rglob("*.md"))
    assert not [name for name in DRAWN if f"(plots/{name}.svg)" not in pages]


def test_each_plot_has_a_command_that_draws_it() -> None:
    """Which the page about benchmarks names."""
    tree = ast.parse(Path(docs_plots.__file__).read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.args}
    names = {arg.value for arg in named if isinstance(arg, ast.Constant)}
    assert {compare.NAME, *names} >= DRAWN
    page = (DOCS.parent / "benchmarks" / "README.md").read_text("utf-8")
    assert "python -m benchmarks.docs_plots" in page
    assert "benchmarks.compare" in page
