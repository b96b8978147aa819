"""Counts the tries of stream records that may end the function that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import Item, number, read_count
from ojs_aws.domain.timestamps import Instant

TRIES: Final = "n"
KEPT_S: Final = 2 * 86_400
"""A record stays in the stream for a day."""


@dataclass(frozen=True, slots=True)
class DynamoRecordTries(InTable):
    """Implements the port RecordTries over the table.

    :ivar partition: of the items; each reader of the stream has its own.
    """

    partition: str

    def begin(self, record: str, now: Instant) -> int:
        """Make one update."""
        update = Update()
        update.add(TRIES, 1)
        update.set(n.TTL, number(now // 1000 + KEPT_S))
        return read_count(self.update_item(self._key(record), update, "UPDATED_NEW"), TRIES)

    def forget(self, record: str) -> None:
        """Make one delete."""
        self.delete_item(self._key(record))

    def _key(self, record: str) -> Item:
        return item_key(self.partition, record)
