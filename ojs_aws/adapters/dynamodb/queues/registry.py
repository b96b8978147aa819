"""Registers queues: an item for each queue that was used, beside the declared ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError, conditional
from ojs_aws.adapters.dynamodb.jobs.lists import PAUSED
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import Item, number, read_number, read_string, string
from ojs_aws.adapters.errors import error_code, translated
from ojs_aws.adapters.sqs.arns import queue_arn
from ojs_aws.domain.errors import NotFoundError
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import JobList, LastTick, QueueInfo
from ojs_aws.topology import (
    MAX_RECEIVE_COUNT,
    MESSAGE_RETENTION_S,
    PAUSED_ATTRIBUTE,
    QUEUE_PARTITION,
    dead_letter_queue_name,
    sqs_queue_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

PARTITION: Final = QUEUE_PARTITION
EXISTS: Final = frozenset(
    {"QueueAlreadyExists", "QueueNameExists", "AWS.SimpleQueueService.QueueNameExists"}
)
"""Codes of a queue that somebody else made at the same time, with other attributes."""
PAUSED_AT: Final = PAUSED_ATTRIBUTE
SWEPT_UNTIL: Final = "su"
SWEEP_CURSOR: Final = "sc"
TICK: Final = "tick"
LAG: Final = "lag"
TRIGGERS: Final = "tr"
MAX_NOTED: Final = 10_000
"""Names that a process remembers; beyond, a queue may be registered again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoQueueRegistry:
    """Implements the port QueueRegistry over the table and SQS."""

    dynamodb: DynamoDBClient
    sqs: SQSClient
    table: str
    queue_prefix: str
    queue_url_prefix: str
    declared: tuple[str, ...]
    allow_undeclared: bool
    noted: set[str] = field(default_factory=set)

    def ensure(self, queue: str, now: Instant) -> None:
        """Register the queue, then create its SQS queue; each may exist already.

        In this order, so that the sweep knows of every queue that has messages.
        """
        if not self.allow_undeclared and queue not in self.declared:
            raise NotFoundError(f"There is no queue '{queue}'.", details={"queue": queue})
        self.register(queue, now)
        dead_letters = queue_arn(
            self.sqs, self.queue_url_prefix, dead_letter_queue_name(self.queue_prefix)
        )
        redrive = {"deadLetterTargetArn": dead_letters, "maxReceiveCount": MAX_RECEIVE_COUNT}
        with translated("CreateQueue"):
            try:
                self.sqs.create_queue(
                    QueueName=sqs_queue_name(self.queue_prefix, queue),
                    Attributes={
                        "MessageRetentionPeriod": str(MESSAGE_RETENTION_S),
                        "SqsManagedSseEnabled": "true",
                        "RedrivePolicy": json.dumps(redrive),
                    },
                )
            except ClientError as problem:
                if error_code(problem) not in EXISTS:
                    raise

    def note(self, queue: str, now: Instant) -> None:
        """Make one update at the first use in this process; none for a declared queue."""
        if queue not in self.declared and queue not in self.noted:
            self.register(queue, now)

    def register(self, queue: str, now: Instant) -> None:
        """Make one update."""
        with translated("UpdateItem"):
            self.dynamodb.update_item(
                TableName=self.table,
                Key=_key(queue),
                UpdateExpression="SET #cr = if_not_exists(#cr, :now)",
                ExpressionAttributeNames={"#cr": n.CREATED},
                ExpressionAttributeValues={":now": number(now)},
            )
        if len(self.noted) < MAX_NOTED:
            self.noted.add(queue)

    def all(self) -> list[QueueInfo]:
        """Run one query, more only beyond a megabyte of queues."""
        infos = {name: QueueInfo(name=name) for name in self.declared}
        start: Item = {}
        while True:
            more = {"ExclusiveStartKey": start} if start else {}
            with translated("Query"):
                answer = self.dynamodb.query(
                    TableName=self.table,
                    KeyConditionExpression="#pk = :pk",
                    ExpressionAttributeNames={"#pk": n.PK},
                    ExpressionAttributeValues={":pk": string(PARTITION)},
                    **more,  # type: ignore[arg-type]
                )
            for item in answer["Items"]:
                info = read_queue(item)
                infos[info.name] = info
            start = answer.get("LastEvaluatedKey", {})
            if not start:
                return sorted(infos.values(), key=lambda info: info.name)

    def load(self, queue: str) -> QueueInfo | None:
        """Make one consistent read."""
        with translated("GetItem"):
            answer = self.dynamodb.get_item(
                TableName=self.table, Key=_key(queue), ConsistentRead=True
            )
        if "Item" in answer:
            return read_queue(answer["Item"])
        return QueueInfo(name=queue) if queue in self.declared else None

    def pause(self, queue: str, triggers: Sequence[str], now: Instant) -> QueueInfo:
        """Make one update: the item becomes the first row of the queue's ready list."""
        update = Update()
        update.set_if_absent(n.CREATED, n.CREATED, number(now))
        update.set_if_absent(PAUSED_AT, PAUSED_AT, number(now))
        update.set(n.GPK, string(n.list_key(queue, JobList.READY)))
        update.set(n.GSK, string(PAUSED))
        if triggers:
            update.add_to_set(TRIGGERS, {"SS": sorted(set(triggers))})
        with translated("UpdateItem"):
            answer = self.dynamodb.update_item(
                TableName=self.table, Key=_key(queue), ReturnValues="ALL_NEW", **update.arguments()
            )
        return read_queue(answer["Attributes"])

    def resume(self, queue: str) -> QueueInfo | None:
        """Make one update: the row leaves the ready list."""
        update = Update()
        update.remove(PAUSED_AT, n.GPK, n.GSK)
        update.when(f"attribute_exists({update.name(n.PK)})")
        try:
            with conditional("UpdateItem"):
                answer = self.dynamodb.update_item(
                    TableName=self.table,
                    Key=_key(queue),
                    ReturnValues="ALL_OLD",
                    **update.arguments(),
                )
        except ConditionFailedError:
            return None
        return read_queue(answer["Attributes"])

    def note_triggers(self, queue: str, triggers: Sequence[str]) -> bool:
        """Make one conditional update."""
        update = Update()
        update.add_to_set(TRIGGERS, {"SS": sorted(set(triggers))})
        update.when(f"attribute_exists({update.name(PAUSED_AT)})")
        try:
            with conditional("UpdateItem"):
                self.dynamodb.update_item(
                    TableName=self.table, Key=_key(queue), **update.arguments()
                )
        except ConditionFailedError:
            return False
        return True

    def forget_triggers(self, queue: str) -> None:
        """Make one update, unless the queue was paused again."""
        update = Update()
        update.remove(TRIGGERS)
        update.when(f"attribute_not_exists({update.name(PAUSED_AT)})")
        try:
            with conditional("UpdateItem"):
                self.dynamodb.update_item(
                    TableName=self.table, Key=_key(queue), **update.arguments()
                )
        except ConditionFailedError:
            return

    def remember_sweep(self, queue: str, until: Instant, cursor: str = "") -> None:
        """Make one update; an older sweep that comes late changes nothing."""
        with translated("UpdateItem"):
            try:
                self.dynamodb.update_item(
                    TableName=self.table,
                    Key=_key(queue),
                    UpdateExpression="SET #su = :until, #sc = :cursor",
                    ConditionExpression="attribute_not_exists(#su) OR #su <= :until",
                    ExpressionAttributeNames={"#su": SWEPT_UNTIL, "#sc": SWEEP_CURSOR},
                    ExpressionAttributeValues={
                        ":until": number(until),
                        ":cursor": string(cursor),
                    },
                )
            except self.dynamodb.exceptions.ConditionalCheckFailedException:
                return

    def remember_tick(self, tick: LastTick) -> None:
        """Make one update; a tick that ends after a later one changes nothing."""
        with translated("UpdateItem"):
            try:
                self.dynamodb.update_item(
                    TableName=self.table,
                    Key=_TICK_KEY,
                    UpdateExpression="SET #at = :at, #lag = :lag",
                    ConditionExpression="attribute_not_exists(#at) OR #at <= :at",
                    ExpressionAttributeNames={"#at": n.COMPLETED, "#lag": LAG},
                    ExpressionAttributeValues={
                        ":at": number(tick.at),
                        ":lag": number(tick.lag_ms),
                    },
                )
            except self.dynamodb.exceptions.ConditionalCheckFailedException:
                return

    def last_tick(self) -> LastTick | None:
        """Make one read."""
        with translated("GetItem"):
            answer = self.dynamodb.get_item(TableName=self.table, Key=_TICK_KEY)
        item = answer.get("Item", {})
        at = read_number(item, n.COMPLETED)
        return None if at is None else LastTick(Instant(at), read_number(item, LAG) or 0)


_TICK_KEY: Final[Item] = {n.PK: string(TICK), n.SK: string(TICK)}


def _key(queue: str) -> Item:
    return {n.PK: string(PARTITION), n.SK: string(queue)}


def read_queue(item: Item) -> QueueInfo:
    """Return the queue that an item describes."""

    def instant(name: str) -> Instant | None:
        value = read_number(item, name)
        return None if value is None else Instant(value)

    return QueueInfo(
        name=read_string(item, n.SK),
        created_at=instant(n.CREATED),
        paused_at=instant(PAUSED_AT),
        swept_until=instant(SWEPT_UNTIL),
        sweep_cursor=read_string(item, SWEEP_CURSOR),
        triggers=tuple(sorted(item.get(TRIGGERS, {}).get("SS", ()))),
    )
