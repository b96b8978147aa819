"""Stores API keys: one item each, all in one partition, without index rows and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError
from ojs_aws.adapters.dynamodb.table import InTable, condition, item_key
from ojs_aws.adapters.dynamodb.values import Item, number, read_count, read_string, string
from ojs_aws.domain.access import read_scopes
from ojs_aws.domain.api_keys import ApiKey, KeySecret
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.ports.access import StaleKeyError
from ojs_aws.topology import KEY_PARTITION

KEPT_S: Final = 90 * 86_400
"""How long the record of a key stays that is revoked or expired."""

_PLAIN: Final = ("name", "created_at", "expires_at", "revoked_at")


@dataclass(frozen=True, slots=True)
class DynamoApiKeys(InTable):
    """Implements the port ApiKeys over the table."""

    def load(self, key_id: str) -> ApiKey | None:
        """Make one consistent read."""
        return self.load_item(item_key(KEY_PARTITION, key_id), _read)

    def save(self, key: ApiKey) -> None:
        """Make one conditional put. The same put again, after a lost answer, is a success."""
        when = condition("attribute_not_exists(#pk)")
        if key.version:
            when = condition("#v = :before", before=number(key.version - 1))
        try:
            self.put_item(_item(key), when)
        except ConditionFailedError:
            if self.load(key.id) != key:
                raise StaleKeyError from None

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """Run one query."""
        answer = self.after(KEY_PARTITION, after, Limit=limit, ConsistentRead=True)
        return [_read(item) for item in answer["Items"]]


def _item(key: ApiKey) -> Item:
    document: dict[str, JsonValue] = {
        **{name: getattr(key, name) for name in _PLAIN},
        "scopes": [*sorted(key.scopes)],
        "queues": [*key.queues],
        "types": [*key.types],
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
        queues=tuple(document["queues"]),
        types=tuple(document["types"]),
        version=read_count(item, n.VERSION),
        **{name: document[name] for name in _PLAIN},
    )
