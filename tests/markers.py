"""Finds the test files that cannot hold a test which ``-m`` selects: importing all takes long.

A file says in its text which of these markers its tests have; a test that gets one from elsewhere
is an error, as its file might not be read when the marker is asked for.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark.expression import Expression

MARKERS: Final = ("e2e", "slow", "thorough")
"""The markers that decide which command runs a test."""

_OF_ALL: Final = re.compile(r"^pytestmark = (.+)$", re.MULTILINE)
_NAME: Final = re.compile(r"(?<=mark\.)\w+")
_ASKED: Final = re.compile(r"[A-Za-z_]\w*")
_WORDS: Final = frozenset({"and", "or", "not"})


def can_be_selected(expression: str, text: str) -> bool:
    """Return whether a file of this text may have a test that a marker expression selects.

    :param expression: what pytest is given as ``-m``.
    """
    if not expression or "=" in expression:
        return True
    of_all = {name for line in _OF_ALL.findall(text) for name in _NAME.findall(line)}
    asked = {*_ASKED.findall(expression)} - _WORDS - of_all
    open_names = sorted(name for name in asked if name not in MARKERS or _says(text, name))
    selection = Expression.compile(expression)
    choices = itertools.product((False, True), repeat=len(open_names))
    chosen = (of_all.union(itertools.compress(open_names, each)) for each in choices)
    return any(_selects(selection, markers) for markers in chosen)


def _selects(selection: Expression, markers: Collection[str]) -> bool:
    """Return whether a test with these markers is selected."""
    return selection.evaluate(lambda name, /, **_: name in markers)


def _says(text: str, marker: str) -> bool:
    return marker in text.lower()


@cache
def text_of(path: Path) -> str:
    """Return the text of a test file."""
    return path.read_text(encoding="utf-8")


def unsaid(items: Iterable[pytest.Item]) -> list[str]:
    """Return the files, each with a marker that its tests have and its text does not say."""
    found: dict[Path, set[str]] = defaultdict(set)
    for item in items:
        found[item.path].update(mark.name for mark in item.iter_markers())
    return [
        f"{path.name}: {marker}"
        for path, markers in found.items()
        for marker in MARKERS
        if marker in markers and not _says(text_of(path), marker)
    ]
