"""Stores the token buckets of API clients: one item each, charged without a read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError
from ojs_aws.adapters.dynamodb.table import InTable, item_key
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import number, read_count, read_number
from ojs_aws.domain.limits.clients import Standing

FULL_AT: Final = "fa"
KEPT_S: Final = 3_600
"""How long an item outlives what it counts (seconds): an absent one is a full bucket."""

TRIES: Final = 3

MAX_NAME: Final = 200
"""Bytes of a client's name that stand in the key as they are."""


def client_pk(client: str) -> str:
    """Return the partition key of a client's bucket; a long name is hashed."""
    raw = client.encode("utf-8", "surrogatepass")
    return f"{n.CLIENT}{client if len(raw) <= MAX_NAME else hashlib.sha256(raw).hexdigest()}"


@dataclass(frozen=True, slots=True)
class DynamoClientBuckets(InTable):
    """Implements the port ClientBuckets over the table."""

    def charge(
        self, client: str, cost_us: int, latest_us: int, now_us: int, seen_us: int
    ) -> Standing:
        """Make one conditional update; a second one if the first guess was wrong.

        A bucket that is full is set, one that is not is added to: both are one write. Busy
        processes lose the race for a full one, and add to what the winner has set.
        """
        is_full = seen_us <= now_us
        for _ in range(TRIES):
            update = _fill(cost_us, now_us) if is_full else _add(cost_us, latest_us, now_us)
            ends = latest_us + cost_us
            update.set(n.TTL, number(ends // 1_000_000 + KEPT_S))
            try:
                key = item_key(client_pk(client), "bucket")
                changed = self.update_item(key, update, returning="UPDATED_NEW")
            except ConditionFailedError as failed:
                full_at = read_count(failed.item, FULL_AT)
                if full_at > max(now_us, latest_us):
                    return Standing(full_at, is_refused=True)
                is_full = full_at <= now_us
            else:
                return Standing(read_number(changed, FULL_AT) or now_us)
        return Standing(now_us)


def _fill(cost_us: int, now_us: int) -> Update:
    """Return the update of a bucket that is full or was never used."""
    update = Update()
    update.set(FULL_AT, number(now_us + cost_us))
    full_at = update.name(FULL_AT)
    update.when(f"(attribute_not_exists({full_at}) OR {full_at} <= {update.value(number(now_us))})")
    return update


def _add(cost_us: int, latest_us: int, now_us: int) -> Update:
    """Return the update of a bucket that is neither full nor empty."""
    update = Update()
    update.add(FULL_AT, cost_us)
    full_at = update.name(FULL_AT)
    most = update.value(number(max(latest_us, now_us)))
    update.when(f"{full_at} BETWEEN {update.value(number(now_us))} AND {most}")
    return update
