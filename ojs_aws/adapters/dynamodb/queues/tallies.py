"""What queues did: an item for each queue and minute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.conditions import ConditionFailedError, conditional
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.adapters.dynamodb.values import Item, number, read_number, read_string, string
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.queues.tallies import Kind, Tally, Times
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_S: Final = 31 * 24 * 3600
"""How long minutes are kept (ojs-admin-api, section 10.2, asks for 30 days)."""

_KINDS: Final = {
    Kind.ENQUEUED: "ne",
    Kind.STARTED: "ns",
    Kind.COMPLETED: "nc",
    Kind.FAILED: "nf",
    Kind.RETRIED: "nr",
    Kind.CANCELLED: "nx",
}
_WAITS: Final = "w"
_RUNS: Final = "r"
_TOTAL: Final = "t"


@dataclass(frozen=True, slots=True)
class DynamoTallies:
    """The port Tallies over the table: one item takes about 1,000 batches a second."""

    client: DynamoDBClient
    table: str

    def add(self, queue: str, minute: Instant, tally: Tally, token: str) -> bool:
        """One conditional update."""
        update = Update()
        for kind, amount in tally.counts.items():
            if amount:
                update.add(_KINDS[kind], amount)
        _add(update, _WAITS, tally.waits)
        _add(update, _RUNS, tally.runs)
        update.set(n.TOKEN, string(token))
        update.set(n.TTL, number(minute // 1000 + KEPT_S))
        last = update.name(n.TOKEN)
        update.when(f"(attribute_not_exists({last}) OR {last} <> {update.value(string(token))})")
        key: Item = {n.PK: string(_partition(queue)), n.SK: string(n.instant_key(minute))}
        try:
            with conditional("UpdateItem"):
                self.client.update_item(TableName=self.table, Key=key, **update.arguments())
        except ConditionFailedError:
            return False
        return True

    def read(self, queue: str, since: Instant, until: Instant) -> list[tuple[Instant, Tally]]:
        """A query for each megabyte."""
        found: list[tuple[Instant, Tally]] = []
        more: Any = {}
        while True:
            with translated("Query"):
                answer = self.client.query(
                    TableName=self.table,
                    KeyConditionExpression="#pk = :pk AND #sk BETWEEN :since AND :until",
                    ExpressionAttributeNames={"#pk": n.PK, "#sk": n.SK},
                    ExpressionAttributeValues={
                        ":pk": string(_partition(queue)),
                        ":since": string(n.instant_key(since)),
                        ":until": string(n.instant_key(until)),
                    },
                    **more,
                )
            found += [
                (Instant(int(read_string(item, n.SK))), read_tally(item))
                for item in answer["Items"]
            ]
            start = answer.get("LastEvaluatedKey")
            if not start:
                return found
            more = {"ExclusiveStartKey": start}


def read_tally(item: Item) -> Tally:
    """What an item counts."""
    tally = Tally()
    for kind, name in _KINDS.items():
        if amount := read_number(item, name):
            tally.counts[kind] = amount
    tally.waits, tally.runs = _times(item, _WAITS), _times(item, _RUNS)
    return tally


def _add(update: Update, prefix: str, times: Times) -> None:
    if times.total_ms:
        update.add(prefix + _TOTAL, times.total_ms)
    for each, amount in times.ranges.items():
        update.add(f"{prefix}{each}", amount)


def _times(item: Item, prefix: str) -> Times:
    times = Times(read_number(item, prefix + _TOTAL) or 0)
    for name, value in item.items():
        if name[:1] == prefix and name[1:].isdecimal():
            times.ranges[int(name[1:])] = int(value["N"])
    return times


def _partition(queue: str) -> str:
    return f"tally#{queue}"
