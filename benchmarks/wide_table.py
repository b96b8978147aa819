"""Holds very many jobs that wait as numbers: a table in memory makes the rows that a query reads.

What is counted - calls, and what a query reads - is what it would be with the items themselves; a
test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.memory_aws.items import Item, item_size
from ojs_aws.memory_aws.table import Key, MemoryTable, Position, Rows, key_of, row_of


@dataclass(frozen=True, slots=True)
class _Waiting(Sequence[Position]):
    """Makes the positions of jobs from their due times.

    :ivar due: ascending (milliseconds).
    """

    due: Sequence[int]

    def __len__(self) -> int:
        return len(self.due)

    @overload
    def __getitem__(self, at: int) -> Position: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Position]: ...

    def __getitem__(self, at: int | slice) -> Position | Sequence[Position]:
        if isinstance(at, slice):
            raise TypeError("Queries read one position after the other.")
        job_id = f"01990000-0000-7000-9000-{at:012x}"
        return n.due_key(self.due[at], is_far=True, priority=0), n.job_pk(job_id), n.JOB_SK


class _Held(dict[Key, Item]):
    """Makes the row of a held job from one that is like it, if it is not there."""

    def __init__(self, rows: dict[Key, Item], template: Item, places: Sequence[Position]) -> None:
        super().__init__(rows)
        self._template, self._places = template, places

    def __missing__(self, key: Key) -> Item:
        place = self._places[int(key[0].rpartition("-")[2], 16)]
        return {**self._template, n.PK: {"S": key[0]}, n.GSK: {"S": place[0]}}


class _WideRows(Rows):
    """Keeps the rows of an index, and one list of held jobs."""

    def hold(self, rows: Rows, template: Item, due: Sequence[int]) -> None:
        """Take over the rows of an index, and hold jobs like a row of it."""
        self._partitions, self._positions = rows._partitions, rows._positions  # noqa: SLF001
        self._list, self._places = template[n.GPK]["S"], _Waiting(due)
        self.rows = _Held(rows.rows, template, self._places)

    def positions(self, partition: str) -> Sequence[Position]:
        """Return the positions of a partition in their order."""
        return self._places if partition == self._list else super().positions(partition)

    def size(self, key: Key) -> int:
        """Return the size of a row in bytes."""
        return item_size(self.rows[key])


class WideTable:
    """A table in memory, some of whose waiting jobs are held as numbers."""

    def __init__(self, table: MemoryTable) -> None:
        """Widen it."""
        self._table = table

    def put(self, item: dict[str, Any]) -> None:
        """Store an item past the API."""
        self._table.write(key_of(item), item)

    def hold(self, job_id: str, due: Sequence[int]) -> None:
        """Hold jobs that are like a job that waits, but for their id and due time.

        :param job_id: of a far job that was pushed, the only one of its list; it goes.
        :param due: in any order (milliseconds).
        """
        key = n.job_pk(job_id), n.JOB_SK
        template = row_of(self._table.get(key))
        if template is None:
            raise ValueError(f"The job {job_id} does not wait.")
        self._table.write(key, None)
        wide = _WideRows()
        wide.hold(self._table.index.rows, template, sorted(due))
        self._table.index.rows = wide
