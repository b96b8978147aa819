"""Stores the settings of queues: an item each, in one partition by name.

One with a visibility timeout is a row of its queue's ready list as well, like a pause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import CONDITION_CODE, cancellation_codes
from ojs_aws.adapters.dynamodb.jobs.lists import SETTINGS
from ojs_aws.adapters.dynamodb.limits import queue_limit
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import (
    Item,
    number,
    packed,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.limits.rules import queue_key
from ojs_aws.domain.queues.config import read_config
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import JobList, LimitChange, QueueSettings, QueueState, StaleSettingsError
from ojs_aws.topology import SETTINGS_PARTITION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = SETTINGS_PARTITION
UPDATED: Final = "up"
_BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class DynamoSettings:
    """Implements the port SettingsBook over the table.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    client: DynamoDBClient
    table: str
    token: Callable[[], str]

    def load(self, queues: Sequence[str]) -> dict[str, QueueSettings]:
        """Make one consistent batch read."""
        keys = [_key(queue) for queue in queues[:_BATCH]]
        with translated("BatchGetItem"):
            answer = self.client.batch_get_item(
                RequestItems={self.table: {"Keys": keys, "ConsistentRead": True}}
            )
        found = map(read_settings, answer["Responses"].get(self.table, []))
        return {settings.queue: settings for settings in found}

    def all(self) -> list[QueueSettings]:
        """Run one query, more only beyond a megabyte of settings."""
        found: list[QueueSettings] = []
        start: Item = {}
        while True:
            more: Any = {"ExclusiveStartKey": start} if start else {}
            with translated("Query"):
                answer = self.client.query(
                    TableName=self.table,
                    KeyConditionExpression="#pk = :pk",
                    ExpressionAttributeNames={"#pk": n.PK},
                    ExpressionAttributeValues={":pk": string(PARTITION)},
                    **more,
                )
            found += map(read_settings, answer["Items"])
            start = answer.get("LastEvaluatedKey", {})
            if not start:
                return found

    def save(
        self, before: QueueSettings, after: QueueSettings, limit: LimitChange | None = None
    ) -> None:
        """Make one transaction."""
        token = self.token()
        update = Update()
        for name, value in _attributes(after).items():
            update.set(name, value)
        update.set(n.TOKEN, string(token))
        if n.VISIBILITY not in _attributes(after):
            update.remove(n.VISIBILITY, n.GPK, n.GSK)
        version = update.name(n.VERSION)
        if before.revision:
            update.when(f"{version} = {update.value(number(before.revision))}")
        else:
            update.when(f"attribute_not_exists({version})")
        own = {
            "Update": {
                "TableName": self.table,
                "Key": _key(after.queue),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                **update.arguments(),
            }
        }
        parts = []
        if limit is not None:
            parts.append(queue_limit(self.table, after.queue, queue_key(after.queue), limit.policy))
        actions: Any = [own, *parts]
        with translated("TransactWriteItems"):
            try:
                self.client.transact_write_items(TransactItems=actions)
            except ClientError as problem:
                codes = cancellation_codes(problem)
                if not codes or codes[0][0] != CONDITION_CODE:
                    raise
                if read_string(codes[0][1], n.TOKEN) != token:
                    raise StaleSettingsError from problem


def read_settings(item: Item) -> QueueSettings:
    """Return the settings that an item holds."""

    def instant(name: str) -> Instant | None:
        value = read_number(item, name)
        return None if value is None else Instant(value)

    members = decode(unpacked(item[n.DOCUMENT])) if n.DOCUMENT in item else {}
    return QueueSettings(
        queue=read_string(item, n.SK),
        members=members if isinstance(members, dict) else {},
        revision=read_number(item, n.VERSION) or 0,
        state=QueueState(read_string(item, n.STATE) or QueueState.ACTIVE),
        created_at=instant(n.CREATED),
        updated_at=instant(UPDATED),
    )


def _attributes(settings: QueueSettings) -> Item:
    item: Item = {
        n.VERSION: number(settings.revision),
        n.STATE: string(settings.state),
        n.DOCUMENT: packed(encode(dict(settings.members))),
    }
    for name, value in ((n.CREATED, settings.created_at), (UPDATED, settings.updated_at)):
        if value is not None:
            item[name] = number(value)
    visibility_ms = read_config(settings.members).visibility_timeout_ms
    if visibility_ms is not None and settings.state is not QueueState.DELETED:
        item[n.VISIBILITY] = number(visibility_ms)
        item[n.GPK] = string(n.list_key(settings.queue, JobList.READY))
        item[n.GSK] = string(SETTINGS)
    return item


def _key(queue: str) -> Item:
    return {n.PK: string(PARTITION), n.SK: string(queue)}
