"""Stores where each fairness key is in virtual time: one item for each key that was used lately.

A key has an item for each list and priority: the virtual times of two lists have nothing to do with
each other. An item is forgotten days after its last job; idle keys cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import number, read_count, read_string, string
from ojs_aws.adapters.dynamodb.table import InTable, in_index, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.fairness import Charge, FairKey
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.jobs.ready_keys import READY_BASE
from ojs_aws.domain.timestamps import Instant

LAST: Final = "la"
ITEM: Final = "fair"
KEPT_S: Final = 2 * 86_400
"""How long an item outlives the last job of its key."""


@dataclass(frozen=True, slots=True)
class FairKeys(InTable):
    """Stores where fairness keys are in virtual time."""

    def first(self, line: str, priority: int) -> str:
        """Return the sort key of the first ready job of a priority; empty for none.

        Runs one query of the index, for one row.
        """
        rank = f"{READY_BASE - priority:03d}"
        values = {
            "gpk": string(n.list_key(line, JobList.READY)),
            "low": string(rank),
            "high": string(f"{rank}$"),
        }
        condition = "#gpk = :gpk AND #gsk BETWEEN :low AND :high"
        rows = self.query(condition, values, **in_index(Limit=1))["Items"]
        return read_string(rows[0], n.GSK) if rows else ""

    def move_on(self, key: FairKey, charge: Charge, now: Instant) -> int | None:
        """Move a key on from where it is; return where it was, None if it is not ahead of the head.

        Makes one update.
        """
        update = Update()
        update.set_sum(LAST, LAST, number(charge.at), number(charge.cost))
        update.set(n.TTL, number(now // 1000 + KEPT_S))
        first, last = number(charge.at), number(charge.at + charge.lead)
        update.when(f"{update.name(LAST)} BETWEEN {update.value(first)} AND {update.value(last)}")
        try:
            found = self.update_item(_key(key), update, "UPDATED_NEW")
        except ConditionFailedError:
            return None
        return read_count(found, LAST) - charge.cost

    def begin(self, key: FairKey, charge: Charge, now: Instant) -> bool:
        """Move a key on from the head; return False if it is ahead of the head already.

        Makes one update.
        """
        update = Update()
        update.set(LAST, number(charge.at + charge.cost))
        update.set(n.TTL, number(now // 1000 + KEPT_S))
        last = update.name(LAST)
        is_behind = f"{last} < {update.value(number(charge.at))}"
        is_too_far = f"{last} > {update.value(number(charge.at + charge.lead))}"
        update.when(f"(attribute_not_exists({last}) OR {is_behind} OR {is_too_far})")
        return self.try_update(_key(key), update)


def _key(key: FairKey) -> dict[str, dict[str, str]]:
    return item_key(n.fair_pk(key.line, key.priority, key.key), ITEM)
