"""Stores how far some upkeep got: one small item each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import number, read_instant
from ojs_aws.domain.timestamps import Instant

PARTITION: Final = "marks"
UNTIL: Final = "un"


@dataclass(frozen=True, slots=True)
class DynamoMarks(InTable):
    """Implements the port Marks over the table."""

    def read(self, name: str) -> Instant | None:
        """Make one read."""
        return read_instant(self.get_item(item_key(PARTITION, name), is_consistent=False), UNTIL)

    def move(self, name: str, until: Instant) -> None:
        """Make one conditional update; a late one changes nothing."""
        update = Update()
        update.set(UNTIL, number(until))
        mark = update.name(UNTIL)
        update.when(f"(attribute_not_exists({mark}) OR {mark} < {update.value(number(until))})")
        self.try_update(item_key(PARTITION, name), update)
