"""Stores how far some upkeep got, and how often it tried: one small item each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, read_count, read_instant
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.timestamps import Instant

PARTITION: Final = "marks"
UNTIL: Final = "un"
TRIES: Final = "n"
KEPT_S: Final = 2 * 86_400
"""A record stays in the stream for a day."""


@dataclass(frozen=True, slots=True)
class Watermarks(InTable):
    """Stores instants up to which some upkeep has been done, by name."""

    def read(self, name: str) -> Instant | None:
        """Return the mark; None if there is none yet.

        Makes one read.
        """
        return read_instant(self.get_item(item_key(PARTITION, name), is_consistent=False), UNTIL)

    def move(self, name: str, until: Instant) -> None:
        """Set a mark, never back.

        Makes one conditional update; a late one changes nothing.
        """
        update = Update()
        update.set(UNTIL, number(until))
        mark = update.name(UNTIL)
        update.when(f"(attribute_not_exists({mark}) OR {mark} < {update.value(number(until))})")
        self.try_update(item_key(PARTITION, name), update)


@dataclass(frozen=True, slots=True)
class RecordTries(InTable):
    """Counts how often a reader of the stream began with a record, and did not come to its end.

    :ivar partition: of the items; each reader of the stream has its own.
    """

    partition: str

    def begin(self, record: str, now: Instant) -> int:
        """Count a try of a record, by its number; return how many tries did not end, this one too.

        A try that is repeated because its answer was lost may count twice.

        Makes one update.
        """
        update = Update()
        update.add(TRIES, 1)
        update.set(n.TTL, number(now // 1000 + KEPT_S))
        return read_count(self.update_item(self._key(record), update, "UPDATED_NEW"), TRIES)

    def forget(self, record: str) -> None:
        """Note that the tries of a record ended; no error if there was none.

        Makes one delete.
        """
        self.delete_item(self._key(record))

    def _key(self, record: str) -> Item:
        return item_key(self.partition, record)
