"""The buckets of limits: one item each, all in one partition by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.lists import LIMITED
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import Item, number, read_number, read_string, string
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import JobList

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "limits"
ACTIVE: Final = "ac"
OPENED: Final = "op"
STARTED: Final = "sd"
NEXT: Final = "na"
POLICY: Final = "d"
KEPT_S: Final = 40 * 86_400
"""How long a bucket outlives its last start: longer than any job may be active or window may be."""

MAX_NOTED: Final = 10_000


def bucket_key(key: str) -> Item:
    """The key of a bucket's item."""
    return {n.PK: string(PARTITION), n.SK: string(key)}


def read_bucket(item: Item) -> Bucket:
    """The bucket that an item holds."""

    def instant(name: str) -> Instant | None:
        value = read_number(item, name)
        return None if value is None else Instant(value)

    return Bucket(
        key=read_string(item, n.SK),
        version=read_number(item, n.VERSION) or 0,
        active=max(0, read_number(item, ACTIVE) or 0),
        opened_at=instant(OPENED),
        started=read_number(item, STARTED) or 0,
        next_at=instant(NEXT),
        policy=read_string(item, POLICY),
    )


def taking(table: str, before: Bucket, after: Bucket, now: Instant) -> dict[str, Any]:
    """The part of a transaction that takes a place, if nobody took one since."""
    update = Update()
    for name, value in ((OPENED, after.opened_at), (NEXT, after.next_at)):
        if value is not None:
            update.set(name, number(value))
    update.set(STARTED, number(after.started))
    update.set(n.TTL, number(now // 1000 + KEPT_S))
    if after.policy != before.policy:
        update.set(POLICY, string(after.policy))
    update.add(ACTIVE, 1)
    update.add(n.VERSION, 1)
    version = update.name(n.VERSION)
    if before.version:
        update.when(f"{version} = {update.value(number(before.version))}")
    else:
        update.when(f"attribute_not_exists({version})")
    key = bucket_key(before.key)
    return {"Update": {"TableName": table, "Key": key, **update.arguments()}}


def releasing(table: str, key: str, count: int = 1) -> dict[str, Any]:
    """The part of a transaction that gives places back."""
    update = Update()
    update.add(ACTIVE, -count)
    return {"Update": {"TableName": table, "Key": bucket_key(key), **update.arguments()}}


def _limiting(queue: str, policy: str | None) -> Update:
    update = Update()
    if policy is None:
        update.remove(n.GPK, n.GSK, n.TYPE)
    else:
        update.set(n.GPK, string(n.list_key(queue, JobList.READY)))
        update.set(n.GSK, string(LIMITED))
        update.set(n.TYPE, string(policy))
        update.set(POLICY, string(policy))
    return update


def queue_limit(table: str, queue: str, key: str, policy: str | None) -> dict[str, Any]:
    """The part of a transaction that limits a whole queue, or no more."""
    arguments = _limiting(queue, policy).arguments()
    return {"Update": {"TableName": table, "Key": bucket_key(key), **arguments}}


@dataclass(frozen=True, slots=True)
class DynamoLimits:
    """The port Limits over the table."""

    client: DynamoDBClient
    table: str
    noted: set[tuple[str, str]] = field(default_factory=set)

    def note(self, key: str, policy: str, now: Instant) -> None:
        """One update for a policy that this process has not seen."""
        if (key, policy) in self.noted:
            return
        update = Update()
        update.set(POLICY, string(policy))
        update.set(n.TTL, number(now // 1000 + KEPT_S))
        self._update(key, update)
        if len(self.noted) < MAX_NOTED:
            self.noted.add((key, policy))

    def set_for_queue(self, queue: str, key: str, policy: str | None) -> None:
        """One update; the bucket becomes, or ceases to be, a row of the queue's ready list."""
        self._update(key, _limiting(queue, policy))

    def policy_of_queue(self, key: str) -> str:
        """One consistent read."""
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table, Key=bucket_key(key), ConsistentRead=True
            )
        return read_string(answer.get("Item", {}), n.TYPE)

    def _update(self, key: str, update: Update) -> None:
        with translated("UpdateItem"):
            self.client.update_item(TableName=self.table, Key=bucket_key(key), **update.arguments())

    def load(self, key: str) -> Bucket | None:
        """One consistent read."""
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table, Key=bucket_key(key), ConsistentRead=True
            )
        return read_bucket(answer["Item"]) if "Item" in answer else None

    def page(self, after: str, limit: int) -> Sequence[Bucket]:
        """One query."""
        condition, values = "#pk = :pk", {":pk": string(PARTITION)}
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
            )
        return [read_bucket(item) for item in answer["Items"]]
