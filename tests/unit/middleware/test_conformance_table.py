"""The tables of docs: every requirement once, with a test that exists and names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = ROOT / "docs" / "middleware" / "proof.md"
"""Appendix A and River."""
TABLE: Final = ROOT / "docs" / "middleware" / "conformance.md"
"""The text of the specification."""
LEVELS: Final = {"MUST", "SHOULD", "MAY"}
COUNTS: Final = {
    "A": 26,
    "MW-ENQ": 26,
    "MW-EXE": 25,
    "MW-CHAIN": 30,
    "MW-BUILTIN": 19,
    "MW-BATCH": 5,
    "RIVER": 22,
}
"""The requirements of each group, numbered from 1."""

_ROW: Final = re.compile(r"\| ([A-Z-]+-\d+) \| (\w+) \| (.+) \| `(\S+)::(\w+)` \|")
_IN_TEXT: Final = re.compile(r"((?:MW-[A-Z]+|RIVER)-)(\d+)(?:\.\.(\d+))?")
_IN_NAME: Final = re.compile(r"(mw_[a-z]+|river)((?:_\d{3})+)")


class Row(NamedTuple):
    """A requirement and the test that proves it."""

    id: str
    level: str
    asked: str
    path: str
    test: str


def required(*groups: str) -> list[str]:
    """The id of every requirement of some groups."""
    width = {"A": 2}
    return [
        f"{group}-{number:0{width.get(group, 3)}d}"
        for group in groups
        for number in range(1, COUNTS[group] + 1)
    ]


def rows(*pages: Path) -> list[Row]:
    """What the tables of some pages say; a line that looks like a row and is none fails."""
    text = "\n".join(page.read_text() for page in pages or (PAGE, TABLE))
    _, *tables = text.split("| id | level | what it asks | test |\n|---|---|---|---|\n")
    found = [line for table in tables for line in table.split("\n\n")[0].splitlines()]
    matches = [_ROW.fullmatch(line) for line in found]
    assert [line for line, match in zip(found, matches, strict=True) if not match] == []
    return [Row(*match.groups()) for match in matches if match]


@cache
def known_tests(path: str) -> dict[str, str]:
    """The tests of a file, with what each says of itself; the file is not run."""
    module = ast.parse((ROOT / path).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.name: ast.get_docstring(node) or ""
        for node in module.body
        if isinstance(node, functions) and node.name.startswith("test_")
    }


def named(test: str, says: str) -> Iterator[str]:
    """The ids in a test's name and docstring; ``MW-ENQ-018..020`` is three."""
    for prefix, numbers in _IN_NAME.findall(test):
        for number in numbers[1:].split("_"):
            yield f"{prefix.replace('_', '-').upper()}-{number}"
    for prefix, first, last in _IN_TEXT.findall(says):
        for number in range(int(first), int(last or first) + 1):
            yield f"{prefix}{number:03d}"


def test_every_requirement_is_there_once_and_in_order() -> None:
    assert [row.id for row in rows(PAGE)] == required("A", "RIVER")
    text = [group for group in COUNTS if group.startswith("MW-")]
    assert [row.id for row in rows(TABLE)] == required(*text)
    assert {row.level for row in rows()} == LEVELS


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_the_test_of_a_row_exists_and_names_it(row: Row) -> None:
    """Of Appendix A and of River by the test's name, so that a failing run says what is not met."""
    assert row.test in known_tests(row.path), f"{row.path} has no test {row.test}"
    if row.id.startswith("A-"):
        assert row.test.startswith("test_appendix_a_")
    elif row.id.startswith("RIVER-"):
        assert row.test.startswith("test_river_")
        assert row.id in named(row.test, "")
    else:
        assert row.id in named(row.test, known_tests(row.path)[row.test])


def test_no_two_rows_of_the_appendix_or_of_river_share_a_test() -> None:
    of_their_own = [row.test for row in rows() if row.id.startswith(("A-", "RIVER-"))]
    assert len(of_their_own) == len({*of_their_own})


def test_ids_are_read_from_names_and_from_ranges() -> None:
    says = "MW-EXE-001, RIVER-018..020: as they are."
    assert [*named("test_mw_enq_010_013_types_are_routed", says)] == [
        "MW-ENQ-010",
        "MW-ENQ-013",
        "MW-EXE-001",
        "RIVER-018",
        "RIVER-019",
        "RIVER-020",
    ]
