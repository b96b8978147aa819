"""Stores API keys: one item each, all in one partition, without index rows and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.values import Item, number, read_number, read_string, string
from ojs_aws.adapters.errors import error_code, translated
from ojs_aws.domain.access import read_scopes
from ojs_aws.domain.api_keys import ApiKey, KeySecret
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports.access import StaleKeyError
from ojs_aws.topology import KEY_PARTITION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_S: Final = 90 * 86_400
"""How long the record of a key stays that is revoked or expired."""


@dataclass(frozen=True, slots=True)
class DynamoApiKeys:
    """Implements the port ApiKeys over the table."""

    client: DynamoDBClient
    table: str

    def load(self, key_id: str) -> ApiKey | None:
        """Make one consistent read."""
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table, Key=_key(key_id), ConsistentRead=True
            )
        return _read(answer["Item"]) if "Item" in answer else None

    def save(self, key: ApiKey) -> None:
        """Make one conditional put. The same put again, after a lost answer, is a success."""
        item = _item(key)
        condition: dict[str, Any] = {
            "ConditionExpression": "attribute_not_exists(#pk)",
            "ExpressionAttributeNames": {"#pk": n.PK},
        }
        if key.version:
            condition = {
                "ConditionExpression": "#v = :before",
                "ExpressionAttributeNames": {"#v": n.VERSION},
                "ExpressionAttributeValues": {":before": number(key.version - 1)},
            }
        try:
            with translated("PutItem"):
                self._put(item, condition)
        except StaleKeyError:
            if self.load(key.id) != key:
                raise

    def _put(self, item: Item, condition: Mapping[str, Any]) -> None:
        try:
            self.client.put_item(TableName=self.table, Item=item, **condition)
        except ClientError as problem:
            if error_code(problem) == "ConditionalCheckFailedException":
                raise StaleKeyError from problem
            raise

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """Run one query."""
        condition, values = "#pk = :pk", {":pk": string(KEY_PARTITION)}
        names = {"#pk": n.PK}
        if after:
            condition += " AND #sk > :after"
            names["#sk"], values[":after"] = n.SK, string(after)
        with translated("Query"):
            answer = self.client.query(
                TableName=self.table,
                KeyConditionExpression=condition,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
                Limit=limit,
                ConsistentRead=True,
            )
        return [_read(item) for item in answer["Items"]]


def _key(key_id: str) -> Item:
    return {n.PK: string(KEY_PARTITION), n.SK: string(key_id)}


def _item(key: ApiKey) -> Item:
    document: dict[str, JsonValue] = {
        "name": key.name,
        "scopes": [*sorted(key.scopes)],
        "queues": [*key.queues],
        "types": [*key.types],
        "secrets": [[kept.digest, kept.created_at, kept.expires_at] for kept in key.secrets],
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }
    item = _key(key.id) | {n.DOCUMENT: string(encode(document)), n.VERSION: number(key.version)}
    ends = [at for at in (key.expires_at, key.revoked_at) if at is not None]
    if ends:
        item[n.TTL] = number(min(ends) // 1000 + KEPT_S)
    return item


def _read(item: Item) -> ApiKey:
    document: Any = decode(read_string(item, n.DOCUMENT))
    return ApiKey(
        id=read_string(item, n.SK),
        name=document["name"],
        scopes=read_scopes(document["scopes"]),
        secrets=tuple(
            KeySecret(digest=digest, created_at=Instant(created), expires_at=_instant(expires))
            for digest, created, expires in document["secrets"]
        ),
        created_at=Instant(document["created_at"]),
        queues=tuple(document["queues"]),
        types=tuple(document["types"]),
        expires_at=_instant(document["expires_at"]),
        revoked_at=_instant(document["revoked_at"]),
        version=read_number(item, n.VERSION) or 0,
    )


def _instant(value: int | None) -> Instant | None:
    return None if value is None else Instant(value)
