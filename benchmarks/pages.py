"""Puts tables that commands print into pages of the documentation, between their marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.local_server import ROOT

COSTS: Final = ROOT / "docs" / "costs.md"
CAPACITY: Final = ROOT / "docs" / "capacity.md"


@dataclass(frozen=True, slots=True)
class PageTable:
    """Holds a table of a page, between ``<!-- table: name -->`` and ``<!-- end of table -->``.

    :ivar rows: with a cell for each column.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def put_into(self, text: str) -> str:
        """Return the text with this table in the place of the one that is between its marks.

        :raises ValueError: the text has no such marks.
        """
        begin, end = f"<!-- table: {self.name} -->\n", "<!-- end of table -->"
        before, mark, rest = text.partition(begin)
        _, closing, after = rest.partition(end)
        if not mark or not closing:
            raise ValueError(f"The page lacks {begin.strip()} and {end}.")
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return f"{before}{mark}\n{table}\n\n{closing}{after}"
