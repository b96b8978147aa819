"""The index of docs/decisions lists every record, with the title and status of its file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

DECISIONS: Final = Path(__file__).resolve().parents[2] / "docs" / "decisions"
INDEX: Final = (DECISIONS / "README.md").read_text("utf-8")
RECORDS: Final = sorted(DECISIONS.glob("[0-9]*.md"))


def test_the_index_has_the_title_and_status_of_each_record() -> None:
    """In the order of their numbers; a record without a title or status fails."""
    shown = [line for line in INDEX.splitlines() if re.match(r"\| \d", line)]
    assert shown == [_row(record) for record in RECORDS]


def _row(record: Path) -> str:
    """Return the row of the index that a record should have."""
    number = record.name[:4]
    found = re.match(rf"# {number}: (.+)\n\nStatus: (.+)\n", record.read_text("utf-8"))
    assert found is not None, record.name
    title, status = found.groups()
    assert re.match(r"(accepted|replaced by|proposed)\b", status), record.name
    return f"| {number} | [{title}]({record.name}) | {status} |"


def test_the_index_explains_each_missing_number() -> None:
    """No more and no fewer than are missing."""
    numbers = [int(record.name[:4]) for record in RECORDS]
    found = re.search(r"The numbers ([\d, and]+) were reserved", INDEX)
    assert found is not None
    explained = {int(number) for number in re.findall(r"\d+", found[1])}
    assert explained == {*range(1, max(numbers) + 1)} - {*numbers}


def test_replaced_and_amended_records_name_each_other() -> None:
    """A later record is the one that replaces or amends."""
    relations = {"replaced by": "replaces", "amended by": "amends"}
    pairs: dict[str, set[tuple[str, str]]] = {}
    for record in RECORDS:
        status = record.read_text("utf-8").splitlines()[2]
        for relation, target in re.findall(r"([a-z]+(?: by)?) \[\d+\]\((\S+\.md)\)", status):
            if relation in relations:
                pairs.setdefault(relations[relation], set()).add((target, record.name))
            else:
                pairs.setdefault(f"{relation} (later)", set()).add((record.name, target))
    for relation in relations.values():
        assert pairs[relation] == pairs[f"{relation} (later)"]
