"""Every claim has a command: the commands that the documentation names are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Final

from benchmarks.__main__ import ALL

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md"))
MODULE: Final = re.compile(r"python -m ((?:benchmarks|tests|infra|scripts|ojs_aws)[\w.]*)")
TARGET: Final = re.compile(r"`(?:[A-Z]+=\S+ )*make ([a-z][\w-]*)")


def _named(pattern: re.Pattern[str]) -> dict[str, set[str]]:
    """What pages name, and where."""
    found: dict[str, set[str]] = {}
    for page in PAGES:
        for name in pattern.findall(page.read_text("utf-8")):
            found.setdefault(name.rstrip("."), set()).add(page.name)
    return found


def test_modules_that_pages_run_are_there() -> None:
    """``python -m benchmarks.costs`` and the like."""
    named = _named(MODULE)
    assert "benchmarks.costs" in named
    assert not {name: pages for name, pages in named.items() if not _is_there(name)}


def _is_there(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_targets_that_pages_make_are_there() -> None:
    """``make bench`` and the like."""
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = _named(TARGET)
    assert "bench" in named
    assert not {name: pages for name, pages in named.items() if name not in targets}


def test_every_benchmark_has_its_row() -> None:
    """``make bench`` runs what the table of claims names, and nothing else."""
    page = (ROOT / "benchmarks" / "README.md").read_text()
    rows = set(MODULE.findall(page.partition("## Results")[0]))
    modules = {f"benchmarks.{each.name}" for each in ALL}
    assert modules <= rows
    assert all(importlib.util.find_spec(name) for name in modules)
