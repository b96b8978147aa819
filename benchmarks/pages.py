"""Puts tables that commands print into pages of the documentation, between their marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.local_server import ROOT

DOCS: Final = ROOT / "docs"
PLOTS: Final = DOCS / "plots"


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

    def page(self) -> Path:
        """Return the page of docs that has the marks of this table.

        :raises ValueError: no page has them, or more than one.
        """
        begin = f"<!-- table: {self.name} -->\n"
        found = [page for page in DOCS.glob("*.md") if begin in page.read_text("utf-8")]
        if len(found) != 1:
            raise ValueError(f"{len(found)} pages of docs have {begin.strip()}; one must.")
        return found[0]

    def write(self) -> None:
        """Put this table into the page of docs that has its marks.

        :raises ValueError: no page has them, or more than one.
        """
        page = self.page()
        page.write_text(self.put_into(page.read_text("utf-8")), "utf-8")
