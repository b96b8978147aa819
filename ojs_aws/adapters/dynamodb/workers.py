"""Stores the registry of workers: an item for each worker that sends heartbeats."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError, conditional
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
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import ForeignWorkerError, WorkerInfo, WorkerReport

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "workers"
LAST_SEEN: Final = "ls"
SEEN_BEFORE: Final = "lb"
ACTIVE: Final = "aj"
JOB_IDS: Final = "ai"
STATE: Final = "ws"
INTERVAL: Final = "hi"
ABOUT: Final = "ab"
DIRECTIVE: Final = "dv"
PRINCIPAL: Final = "pr"

RUNNING: Final = "running"
TERMINATE: Final = "terminate"

KEPT_S: Final = 3600
"""Workers not heard of for an hour are forgotten; they have long been shown as stale."""

MAX_JOB_IDS: Final = 32
"""Ids that an item keeps, 16 bytes each: so many that a heartbeat still costs one write unit."""

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class DynamoWorkerRegistry:
    """Implements the port WorkerRegistry over the table."""

    client: DynamoDBClient
    table: str

    def beat(
        self, worker_id: str, report: WorkerReport, now: Instant, principal: str = ""
    ) -> WorkerInfo:
        """Make one update, which also returns the worker's directive."""
        has_ended = report.state == TERMINATE and not report.active_jobs
        update = Update()
        # Evaluated on the item as it was: the first heartbeat finds none before.
        update.set_if_absent(SEEN_BEFORE, LAST_SEEN, number(now))
        update.set(LAST_SEEN, number(now))
        update.set(STATE, string(report.state))
        update.set(ACTIVE, number(report.active_jobs))
        update.set(n.TTL, number(now // 1000 + (0 if has_ended else KEPT_S)))
        if has_ended:
            # A process that takes the id again must not be ended by this one's directive.
            update.remove(DIRECTIVE)
        ids = _packed_ids(report.job_ids)
        if ids:
            update.set(JOB_IDS, {"B": ids})
        else:
            update.remove(JOB_IDS)
        if report.interval_ms is not None:
            update.set(INTERVAL, number(report.interval_ms))
        if report.about:
            update.set(ABOUT, packed(report.about))
        if principal:
            _own(update, principal, now)
        try:
            with conditional("UpdateItem"):
                answer = self.client.update_item(
                    TableName=self.table,
                    Key=_key(worker_id),
                    ReturnValues="ALL_NEW",
                    **update.arguments(),
                )
        except ConditionFailedError:
            raise ForeignWorkerError from None
        return read_worker(answer["Attributes"])

    def load(self, worker_id: str, now: Instant) -> WorkerInfo | None:
        """Make one consistent read."""
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table, Key=_key(worker_id), ConsistentRead=True
            )
        item: Item = answer.get("Item", {})
        return read_worker(item) if item and _is_kept(item, now) else None

    def page(self, after: str, limit: int, now: Instant) -> list[WorkerInfo]:
        """Run one query, more only beyond a megabyte or if many have ended."""
        found: list[WorkerInfo] = []
        query: dict[str, Any] = {
            "KeyConditionExpression": "#pk = :pk",
            "ExpressionAttributeNames": {"#pk": n.PK},
            "ExpressionAttributeValues": {":pk": string(PARTITION)},
        }
        if after:
            query["KeyConditionExpression"] += " AND #sk > :after"
            query["ExpressionAttributeNames"]["#sk"] = n.SK
            query["ExpressionAttributeValues"][":after"] = string(after)
        while True:
            with translated("Query"):
                answer = self.client.query(TableName=self.table, Limit=limit, **query)
            found += [read_worker(item) for item in answer["Items"] if _is_kept(item, now)]
            start = answer.get("LastEvaluatedKey", {})
            if not start or len(found) >= limit:
                return found[:limit]
            query["ExclusiveStartKey"] = start

    def direct(self, worker_id: str, directive: str, now: Instant) -> WorkerInfo | None:
        """Make one conditional update."""
        update = Update()
        if directive == RUNNING:
            update.remove(DIRECTIVE)
        else:
            update.set(DIRECTIVE, string(directive))
        update.when(f"{update.name(n.TTL)} > {update.value(number(now // 1000))}")
        if directive != TERMINATE:
            told = update.name(DIRECTIVE)
            ending = update.value(string(TERMINATE))
            update.when(f"(attribute_not_exists({told}) OR {told} <> {ending})")
        try:
            with conditional("UpdateItem"):
                answer = self.client.update_item(
                    TableName=self.table,
                    Key=_key(worker_id),
                    ReturnValues="ALL_OLD",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **update.arguments(),
                )
        except ConditionFailedError as failed:
            is_there = bool(failed.item) and _is_kept(failed.item, now)
            return read_worker(failed.item) if is_there else None
        return read_worker(answer["Attributes"])

    def forget(self, worker_id: str, last_seen: Instant) -> bool:
        """Make one conditional delete."""
        try:
            with conditional("DeleteItem"):
                self.client.delete_item(
                    TableName=self.table,
                    Key=_key(worker_id),
                    ConditionExpression="#ls = :ls",
                    ExpressionAttributeNames={"#ls": LAST_SEEN},
                    ExpressionAttributeValues={":ls": number(last_seen)},
                )
        except ConditionFailedError:
            return False
        return True


def _own(update: Update, principal: str, now: Instant) -> None:
    """Let a principal own the worker, unless another one does.

    An item without a principal is of before an upgrade, or of open access. One that has expired
    is forgotten, although DynamoDB has not removed it yet.
    """
    owner = update.name(PRINCIPAL)
    is_free = f"attribute_not_exists({owner})"
    is_own = f"{owner} = {update.value(string(principal))}"
    is_forgotten = f"{update.name(n.TTL)} <= {update.value(number(now // 1000))}"
    update.when(f"({is_free} OR {is_own} OR {is_forgotten})")
    update.set(PRINCIPAL, string(principal))


def _key(worker_id: str) -> Item:
    return {n.PK: string(PARTITION), n.SK: string(worker_id)}


def _is_kept(item: Item, now: Instant) -> bool:
    """Return whether an item has not expired; DynamoDB removes expired ones within days."""
    return (read_number(item, n.TTL) or 0) > now // 1000


def read_worker(item: Item) -> WorkerInfo:
    """Return the worker that an item describes."""
    last_seen = Instant(read_number(item, LAST_SEEN) or 0)
    before = read_number(item, SEEN_BEFORE)
    return WorkerInfo(
        id=read_string(item, n.SK),
        last_seen=last_seen,
        seen_before=None if before in {None, last_seen} else Instant(before or 0),
        directive=read_string(item, DIRECTIVE) or RUNNING,
        state=read_string(item, STATE) or RUNNING,
        active_jobs=read_number(item, ACTIVE) or 0,
        job_ids=_unpacked_ids(bytes(item[JOB_IDS]["B"])) if JOB_IDS in item else (),
        interval_ms=read_number(item, INTERVAL),
        about=unpacked(item[ABOUT]) if ABOUT in item else "",
        principal=read_string(item, PRINCIPAL),
    )


def _packed_ids(job_ids: Iterable[str]) -> bytes:
    return b"".join(uuid.UUID(job_id).bytes for job_id in list(job_ids)[:MAX_JOB_IDS])


def _unpacked_ids(data: bytes) -> tuple[str, ...]:
    starts = range(0, len(data), _ID_BYTES)
    return tuple(str(uuid.UUID(bytes=data[at : at + _ID_BYTES])) for at in starts)
