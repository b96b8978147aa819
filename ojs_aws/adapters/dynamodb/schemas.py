"""Stores schemas: a small item in the list of all versions, and one with the schema.

The list is one partition, so that it is read by a query; a job's schema is one read by its URI.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.errors import error_code, translated
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.schemas.schema import SchemaEntry, SchemaName, SchemaVersion
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import SchemaTakenError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SCHEMA_LIST: Final = "schemas"
"""Partition of the list of all versions."""

SCHEMA_SK: Final = "schema"
URI: Final = "ur"
SCHEMA_VERSION: Final = "vv"


@dataclass(frozen=True, slots=True)
class DynamoSchemas:
    """Implements the port Schemas over the table.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    client: DynamoDBClient
    table: str
    token: Callable[[], str]

    def add(self, entry: SchemaEntry) -> None:
        """Make one transaction of two puts; read the item if one of them exists."""
        token = string(self.token())
        listed = {**_list_key(entry.type, entry.version), **_attributes(entry), n.TOKEN: token}
        document = {
            **_key(entry.uri),
            **_attributes(entry),
            n.DOCUMENT: packed(entry.schema),
            n.TOKEN: token,
        }
        puts: Any = [
            {
                "Put": {
                    "TableName": self.table,
                    "Item": item,
                    "ConditionExpression": "attribute_not_exists(#pk)",
                    "ExpressionAttributeNames": {"#pk": n.PK},
                }
            }
            for item in (listed, document)
        ]
        with translated("TransactWriteItems"):
            try:
                self.client.transact_write_items(TransactItems=puts)
            except ClientError as problem:
                if not _is_condition(problem):
                    raise
                taken = self._item(listed) or self._item(document)
                if read_string(taken, n.TOKEN) != token["S"]:
                    raise SchemaTakenError(_name(taken) if taken else None) from problem

    def load(self, uri: str) -> SchemaEntry | None:
        """Make one consistent read."""
        item = self._item(_key(uri))
        if not item:
            return None
        name = _name(item)
        return SchemaEntry(
            type=name.type,
            version=name.version,
            uri=name.uri,
            created_at=name.created_at,
            schema=RawJson(unpacked(item[n.DOCUMENT])),
        )

    def named(self, job_type: str, version: SchemaVersion) -> SchemaName | None:
        """Make one consistent read."""
        item = self._item(_list_key(job_type, version))
        return _name(item) if item else None

    def names(self, job_type: str = "") -> list[SchemaName]:
        """Run one query of the list for each megabyte."""
        prefix = {":sk": string(f"{job_type} ")} if job_type else {}
        condition = "#pk = :pk AND begins_with(#sk, :sk)" if job_type else "#pk = :pk"
        names = {"#pk": n.PK, "#sk": n.SK} if job_type else {"#pk": n.PK}
        found: list[SchemaName] = []
        start: Item = {}
        while True:
            more: Any = {"ExclusiveStartKey": start} if start else {}
            with translated("Query"):
                answer = self.client.query(
                    TableName=self.table,
                    KeyConditionExpression=condition,
                    ExpressionAttributeNames=names,
                    ExpressionAttributeValues={":pk": string(SCHEMA_LIST), **prefix},
                    ConsistentRead=True,
                    **more,
                )
            found += [_name(item) for item in answer["Items"]]
            start = answer.get("LastEvaluatedKey", {})
            if not start:
                return found

    def delete(self, name: SchemaName) -> None:
        """Make one transaction of two deletes; a newer registration of the name stays."""
        deletes: Any = [
            {
                "Delete": {
                    "TableName": self.table,
                    "Key": key,
                    "ConditionExpression": "attribute_not_exists(#pk) OR #cr = :cr",
                    "ExpressionAttributeNames": {"#pk": n.PK, "#cr": n.CREATED},
                    "ExpressionAttributeValues": {":cr": number(name.created_at)},
                }
            }
            for key in (_list_key(name.type, name.version), _key(name.uri))
        ]
        with translated("TransactWriteItems"):
            try:
                self.client.transact_write_items(TransactItems=deletes)
            except ClientError as problem:
                if not _is_condition(problem):
                    raise

    def _item(self, key: Item) -> Item:
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table,
                Key={n.PK: key[n.PK], n.SK: key[n.SK]},
                ConsistentRead=True,
            )
        return answer.get("Item", {})


def _is_condition(problem: ClientError) -> bool:
    """Return whether a condition did not hold: a retry does not help."""
    response: Any = problem.response
    reasons = response.get("CancellationReasons") or ()
    return error_code(problem) == "TransactionCanceledException" and any(
        reason.get("Code") == "ConditionalCheckFailed" for reason in reasons
    )


def _key(uri: str) -> Item:
    return {n.PK: string(f"schema#{uri}"), n.SK: string(SCHEMA_SK)}


def _list_key(job_type: str, version: SchemaVersion) -> Item:
    """Return the key in the list. No type holds a space; 1 and "1" are one version."""
    return {n.PK: string(SCHEMA_LIST), n.SK: string(f"{job_type} {version}")}


def _attributes(entry: SchemaEntry) -> Item:
    return {
        n.TYPE: string(entry.type),
        SCHEMA_VERSION: string(json.dumps(entry.version)),
        URI: string(entry.uri),
        n.CREATED: number(entry.created_at),
    }


def _name(item: Item) -> SchemaName:
    return SchemaName(
        type=read_string(item, n.TYPE),
        version=json.loads(read_string(item, SCHEMA_VERSION)),
        uri=read_string(item, URI),
        created_at=Instant(read_number(item, n.CREATED) or 0),
    )
