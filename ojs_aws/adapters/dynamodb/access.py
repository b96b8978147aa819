"""Stores API keys and the token buckets of API clients: one item each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    number,
    read_count,
    read_number,
    read_string,
    string,
)
from ojs_aws.adapters.dynamodb.table import InTable, condition, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.access import read_scopes
from ojs_aws.domain.api_keys import ApiKey, KeySecret
from ojs_aws.domain.conflicts import StaleKeyError
from ojs_aws.domain.credentials import read_credential, write_credential
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits import Standing
from ojs_aws.topology import KEY_PARTITION

KEPT_S: Final = 90 * 86_400
"""How long the record of a key stays that is revoked or expired."""
_PLAIN: Final = ("created_at", "expires_at", "revoked_at")
FULL_AT: Final = "fa"
BUCKETS_KEPT_S: Final = 3_600
"""How long an item outlives what it counts (seconds): an absent one is a full bucket."""
TRIES: Final = 3
MAX_NAME: Final = 200
"""Bytes of a client's name that stand in the key as they are."""


@dataclass(frozen=True, slots=True)
class ApiKeys(InTable):
    """Stores API keys, without their secrets."""

    def load(self, key_id: str) -> ApiKey | None:
        """Read one key, strongly consistent: a revoked key is never accepted again.

        Makes one consistent read.
        """
        return self.load_item(item_key(KEY_PARTITION, key_id), _read)

    def save(self, key: ApiKey) -> None:
        """Write a key, if its record has the version before this one, or is new at version 0.

        Makes one conditional put. The same put again, after a lost answer, is a success.

        :raises StaleKeyError: it has another.
        """
        when = condition("attribute_not_exists(#pk)")
        if key.version:
            when = condition("#v = :before", before=number(key.version - 1))
        try:
            self.put_item(_item(key), when)
        except ConditionFailedError:
            if self.load(key.id) != key:
                raise StaleKeyError from None

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """Return up to ``limit`` keys by id, after the named one.

        Runs one query.
        """
        answer = self.after(KEY_PARTITION, after, Limit=limit, ConsistentRead=True)
        return [_read(item) for item in answer["Items"]]


def _item(key: ApiKey) -> Item:
    document: dict[str, JsonValue] = {
        **{name: getattr(key, name) for name in _PLAIN},
        "scopes": [*sorted(key.scopes)],
        **write_credential(key),
        "secrets": [[kept.digest, kept.created_at, kept.expires_at] for kept in key.secrets],
    }
    item = item_key(KEY_PARTITION, key.id) | {
        n.DOCUMENT: string(encode(document)),
        n.VERSION: number(key.version),
    }
    ends = [at for at in (key.expires_at, key.revoked_at) if at is not None]
    if ends:
        item[n.TTL] = number(min(ends) // 1000 + KEPT_S)
    return item


def _read(item: Item) -> ApiKey:
    document: Any = decode(read_string(item, n.DOCUMENT))
    return ApiKey(
        id=read_string(item, n.SK),
        scopes=read_scopes(document["scopes"]),
        secrets=tuple(
            KeySecret(digest=digest, created_at=created, expires_at=expires)
            for digest, created, expires in document["secrets"]
        ),
        version=read_count(item, n.VERSION),
        **read_credential(document),
        **{name: document[name] for name in _PLAIN},
    )


def client_pk(client: str) -> str:
    """Return the partition key of a client's bucket; a long name is hashed."""
    raw = client.encode("utf-8", "surrogatepass")
    return f"{n.CLIENT}{client if len(raw) <= MAX_NAME else hashlib.sha256(raw).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ClientBuckets(InTable):
    """Stores one token bucket for each client, shared by all processes."""

    def charge(
        self, client: str, cost_us: int, latest_us: int, now_us: int, seen_us: int
    ) -> Standing:
        """Take tokens, all or none, atomically; while one is left, more may be owed.

        Makes one conditional update; a second one if the first guess was wrong.

        A bucket that is full is set, one that is not is added to: both are one write. Busy
        processes lose the race for a full one, and add to what the winner has set.

        :param cost_us: by how much the instant at which the bucket is full moves on.
        :param latest_us: the latest instant that leaves a token to take.
        :param seen_us: what it was when it was last seen; a wrong guess costs a call, no more.
        """
        is_full = seen_us <= now_us
        for _ in range(TRIES):
            update = _fill(cost_us, now_us) if is_full else _add(cost_us, latest_us, now_us)
            ends = latest_us + cost_us
            update.set(n.TTL, number(ends // 1_000_000 + BUCKETS_KEPT_S))
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
