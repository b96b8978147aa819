"""Copies what the ready list of a wide queue says of the queue into the list of each of its lines.

A pause, the settings that FETCH reads and a limit are rows of the first line, as parts of their own
items. FETCH reads other lines without the first. So each line has copies, which have no meaning but
that of the items: whoever copies reads these, and the sweep copies again where lines differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string
from ojs_aws.adapters.dynamodb.jobs.lists import LIMITED, PAUSED, SETTINGS
from ojs_aws.adapters.dynamodb.limits import bucket_key
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.limits import queue_key
from ojs_aws.topology import QUEUE_PARTITION, SETTINGS_PARTITION

PREFIX: Final = "lines#"

_MARKS: Final = (PAUSED, SETTINGS, LIMITED)
_SHOWN: Final = (n.GSK, n.TYPE, n.VISIBILITY)
"""Attributes of such a row that FETCH reads."""


@dataclass(frozen=True, slots=True)
class LineMarks(InTable):
    """Copies the rows that say something of a queue itself.

    :ivar lines: how many lines each wide queue may have jobs in.
    """

    lines: Mapping[str, int]

    def copy(self, queue: str) -> None:
        """Let each line of a wide queue say of it what the first one does; may be repeated.

        Makes one consistent batch read and one query, and puts the rows that differ: up to three
        in each line but the first. A row that does not apply any more stays as an item without a
        place in the index.
        """
        keys = [
            item_key(QUEUE_PARTITION, queue),
            item_key(SETTINGS_PARTITION, queue),
            bucket_key(queue_key(queue)),
        ]
        rows = {read_string(item, n.GSK): item for item in self.get_items(keys)}
        there = {
            read_string(item, n.SK): item
            for item in self.items("#pk = :pk", {"pk": string(PREFIX + queue)}, ConsistentRead=True)
        }
        wanted = [
            _copied(queue, shard, mark, rows.get(mark, {}))
            for shard in range(1, self.lines[queue])
            for mark in _MARKS
        ]
        self.put_items([item for item in wanted if _differs(item, there)])


def _differs(item: Item, there: Mapping[str, Item]) -> bool:
    """Return whether a copy has to be put; one that never was needs no place outside the index."""
    stored = there.get(read_string(item, n.SK))
    return n.GPK in item if stored is None else stored != item


def _copied(queue: str, shard: int, mark: str, row: Item) -> Item:
    item = item_key(PREFIX + queue, f"{shard}{mark}")
    if not row:
        return item
    shown = {name: row[name] for name in _SHOWN if name in row}
    return item | {n.GPK: string(n.list_key(queue, JobList.READY, shard))} | shown
