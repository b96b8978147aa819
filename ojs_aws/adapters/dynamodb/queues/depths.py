"""Counts the jobs of bounded queues: an item each, and one with what events report of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError, conditional
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import Item, number, read_number, read_string, string
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Depth, JobList, Pressure, QueueIsFullError
from ojs_aws.topology import PRESSURE_PARTITION, TABLE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

JOBS: Final = "dn"
REJECTED: Final = "rj"
WARNED: Final = "wn"
BOUND: Final = "bd"

_LIVE: Final = (JobList.READY, JobList.WAITING, JobList.PENDING)
_JOBS_ONLY: Final = "0"
"""Rows that say something of the queue itself come before this in the ready list."""


@dataclass(frozen=True, slots=True)
class DynamoDepths:
    """Implements the port Depths over the table.

    The writes are plain additions, which DynamoDB lines up: an item takes about 1,000 of them a
    second. One whose answer was lost may be made twice by botocore; the tick corrects that.
    """

    client: DynamoDBClient
    table: str

    def take(self, queue: str, count: int, bound: int) -> int:
        """Make one conditional update."""
        update = _adding(count)
        jobs = update.name(JOBS)
        room = update.value(number(bound - count))
        update.when(f"(attribute_not_exists({jobs}) OR {jobs} <= {room})")
        if count > bound:
            found = self.load(queue)
            raise QueueIsFullError(found.jobs if found else 0)
        try:
            with conditional("UpdateItem"):
                answer = self.client.update_item(
                    TableName=self.table,
                    Key=_key(queue),
                    ReturnValues="UPDATED_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **update.arguments(),
                )
        except ConditionFailedError as failed:
            raise QueueIsFullError(max(0, read_number(failed.item, JOBS) or 0)) from None
        return read_number(answer["Attributes"], JOBS) or 0

    def add(self, queue: str, amount: int) -> int | None:
        """Make one conditional update."""
        update = _adding(amount)
        update.when(f"attribute_exists({update.name(JOBS)})")
        try:
            with conditional("UpdateItem"):
                answer = self.client.update_item(
                    TableName=self.table,
                    Key=_key(queue),
                    ReturnValues="UPDATED_NEW",
                    **update.arguments(),
                )
        except ConditionFailedError:
            return None
        return read_number(answer["Attributes"], JOBS)

    def load(self, queue: str) -> Depth | None:
        """Make one consistent read."""
        with translated("GetItem"):
            answer = self.client.get_item(
                TableName=self.table, Key=_key(queue), ConsistentRead=True
            )
        item = answer.get("Item", {})
        jobs = read_number(item, JOBS)
        return None if jobs is None else Depth(jobs, read_number(item, n.VERSION) or 0)

    def correct(self, queue: str, jobs: int, seen: Depth | None) -> bool:
        """Make one conditional update."""
        update = Update()
        update.set(JOBS, number(jobs))
        update.add(n.VERSION, 1)
        version = update.name(n.VERSION)
        if seen is None:
            update.when(f"attribute_not_exists({version})")
        else:
            update.when(f"{version} = {update.value(number(seen.version))}")
        try:
            with conditional("UpdateItem"):
                self.client.update_item(TableName=self.table, Key=_key(queue), **update.arguments())
        except ConditionFailedError:
            return False
        return True

    def forget(self, queue: str) -> None:
        """Make one delete."""
        with translated("DeleteItem"):
            self.client.delete_item(TableName=self.table, Key=_key(queue))

    def count(self, queue: str, most: int) -> int:
        """Run a query for each megabyte of the three lists, three at least."""
        counted = 0
        for name in _LIVE:
            start: Item = {}
            while counted < most:
                more: Any = {"ExclusiveStartKey": start} if start else {}
                with translated("Query"):
                    answer = self.client.query(
                        TableName=self.table,
                        IndexName=TABLE.index.name,
                        Select="COUNT",
                        KeyConditionExpression="#gpk = :gpk AND #gsk >= :low",
                        ExpressionAttributeNames={"#gpk": n.GPK, "#gsk": n.GSK},
                        ExpressionAttributeValues={
                            ":gpk": string(n.list_key(queue, name)),
                            ":low": string(_JOBS_ONLY),
                        },
                        **more,
                    )
                counted += answer["Count"]
                start = answer.get("LastEvaluatedKey", {})
                if not start:
                    break
        return min(counted, most)


@dataclass(frozen=True, slots=True)
class DynamoPressures:
    """Implements the port Pressures over the table; the stream publishes the changes."""

    client: DynamoDBClient
    table: str

    def warn(self, pressure: Pressure) -> None:
        """Make one update."""
        update = _telling(pressure)
        update.set(WARNED, {"BOOL": pressure.is_warned})
        self._update(pressure.queue, update)

    def reject(self, pressure: Pressure) -> None:
        """Make one update."""
        update = _telling(pressure)
        update.set(n.TYPE, string(pressure.job_type))
        update.add(REJECTED, pressure.rejected)
        self._update(pressure.queue, update)

    def _update(self, queue: str, update: Update) -> None:
        key: Item = {n.PK: string(PRESSURE_PARTITION), n.SK: string(queue)}
        with translated("UpdateItem"):
            self.client.update_item(TableName=self.table, Key=key, **update.arguments())


def read_pressure(item: Item) -> Pressure:
    """Return the pressure of a queue that an item describes."""
    return Pressure(
        queue=read_string(item, n.SK),
        at=Instant(read_number(item, n.CREATED) or 0),
        is_warned=bool(item.get(WARNED, {}).get("BOOL")),
        rejected=read_number(item, REJECTED) or 0,
        job_type=read_string(item, n.TYPE),
        depth=read_number(item, JOBS) or 0,
        bound=read_number(item, BOUND) or 0,
    )


def _telling(pressure: Pressure) -> Update:
    update = Update()
    update.set(n.CREATED, number(pressure.at))
    update.set(JOBS, number(pressure.depth))
    update.set(BOUND, number(pressure.bound))
    return update


def _adding(amount: int) -> Update:
    update = Update()
    update.add(JOBS, amount)
    update.add(n.VERSION, 1)
    return update


def _key(queue: str) -> Item:
    return {n.PK: string(n.DEPTHS), n.SK: string(queue)}
