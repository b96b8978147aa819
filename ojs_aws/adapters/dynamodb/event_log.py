"""The event log: one row of numbered chunks, appended to by who writes the next number first.

Each append takes the place right behind the last chunk, on condition that nobody else has. So a
chunk is only ever written when all before it are there, and a reader that goes on behind what it
has seen misses none, however many consumers write, whatever their clocks say and however late an
event is told (docs/decisions/0012-the-event-log-is-a-row-of-chunks.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.event_chunks import (
    AT,
    HEAD,
    PARTITION,
    START,
    TOKEN,
    chunk_item,
    in_chunks,
    position_of,
)
from ojs_aws.adapters.dynamodb.event_reader import EventReader
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
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import Event
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import EventPage, EventQuery, SetAside

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ASIDE: Final = "events#aside"
ASIDE_KEPT_S: Final = 14 * 86_400
REASON: Final = "why"
MAX_CONFLICTS: Final = 50
"""Times that others may come first; each of them has appended something."""


class _Tail(NamedTuple):
    """The last chunk.

    :ivar seen_at: when this was known, by the clock of who asked.
    """

    position: int
    seen_at: Instant


@dataclass(frozen=True, slots=True)
class DynamoEventLog:
    """The port EventLog over the table.

    :ivar retention_s: how long a chunk is kept, in seconds.
    :ivar new_token: makes a text that no other append has.
    """

    client: DynamoDBClient
    table: str
    retention_s: int
    new_token: Callable[[], str]
    _tails: list[_Tail] = field(default_factory=list)

    def append(self, events: Sequence[Event], now: Instant) -> None:
        """One conditional put per chunk; two more calls when another consumer came first."""
        for chunk in in_chunks(events):
            self._append(chunk, now)

    def _append(self, events: Sequence[Event], now: Instant) -> None:
        token = self.new_token()
        tail = self._known_tail(now)
        for _ in range(MAX_CONFLICTS):
            tail = tail or self._find_tail(now)
            if tail is None:
                written = self._begin(events, now, token)
            else:
                written = self._put(tail.position + 1, events, now, token)
            if written is not None:
                self._tails[:] = [_Tail(written, now)]
                return
            tail = None
        raise BackendError("Too many consumers append to the event log at once.")

    def _known_tail(self, now: Instant) -> _Tail | None:
        """The tail as this process knows it, unless it may have expired since."""
        fresh_ms = self.retention_s * 1000 // 2
        return next((tail for tail in self._tails if now - tail.seen_at < fresh_ms), None)

    def _find_tail(self, now: Instant) -> _Tail | None:
        with translated("Query"):
            items = self.client.query(
                TableName=self.table,
                KeyConditionExpression="#pk = :pk",
                ExpressionAttributeNames={"#pk": n.PK, "#sk": n.SK},
                ExpressionAttributeValues={":pk": string(PARTITION)},
                ProjectionExpression="#sk",
                ScanIndexForward=False,
                Limit=1,
                ConsistentRead=True,
            )["Items"]
        return _Tail(position_of(items[0]), now) if items else None

    def _put(self, position: int, events: Sequence[Event], now: Instant, token: str) -> int | None:
        """Take a place; None when it was taken."""
        item = chunk_item(position, events, now, self.retention_s, token)
        with translated("PutItem"):
            try:
                self.client.put_item(
                    TableName=self.table,
                    Item=item,
                    ConditionExpression="attribute_not_exists(#pk)",
                    ExpressionAttributeNames={"#pk": n.PK},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            except self.client.exceptions.ConditionalCheckFailedException as problem:
                there: Item = dict(problem.response).get("Item", {})  # type: ignore[assignment]
                # Our own: the put took effect, and its answer was lost.
                return position if read_string(there, TOKEN) == token else None
        return position

    def _begin(self, events: Sequence[Event], now: Instant, token: str) -> int | None:
        """The first chunk of a log that is empty, new or since everything in it expired.

        Its place is the time: far behind every place before, since appends come to less than one a
        millisecond. Who begins notes that beside the log, so that only one does.
        """
        key = {n.PK: string(HEAD), n.SK: string(HEAD)}
        with translated("GetItem"):
            head = self.client.get_item(TableName=self.table, Key=key, ConsistentRead=True)
        before = read_number(head.get("Item", {}), START)
        position = max(int(now), (before or 0) + 1)
        values: dict[str, Any] = {":start": number(position)}
        unchanged = "attribute_not_exists(#start)"
        if before is not None:
            unchanged, values[":before"] = "#start = :before", number(before)
        with translated("TransactWriteItems"):
            try:
                self.client.transact_write_items(
                    ClientRequestToken=token,
                    TransactItems=[
                        {
                            "Update": {
                                "TableName": self.table,
                                "Key": key,
                                "UpdateExpression": "SET #start = :start",
                                "ConditionExpression": unchanged,
                                "ExpressionAttributeNames": {"#start": START},
                                "ExpressionAttributeValues": values,
                            }
                        },
                        {
                            "Put": {
                                "TableName": self.table,
                                "Item": chunk_item(position, events, now, self.retention_s, token),
                                "ConditionExpression": "attribute_not_exists(#pk)",
                                "ExpressionAttributeNames": {"#pk": n.PK},
                            }
                        },
                    ],
                )
            except self.client.exceptions.TransactionCanceledException:
                return None
        return position

    def read(self, query: EventQuery) -> EventPage:
        """A few queries at most; what has expired and is still there is shown."""
        return EventReader(self.client, self.table).read(query)

    def set_aside(self, change: SetAside, now: Instant) -> None:
        """One put."""
        with translated("PutItem"):
            self.client.put_item(
                TableName=self.table,
                Item={
                    n.PK: string(ASIDE),
                    n.SK: string(change.number),
                    REASON: string(change.reason),
                    n.DOCUMENT: packed(change.record),
                    AT: number(now),
                    n.TTL: number(now // 1000 + ASIDE_KEPT_S),
                },
            )

    def aside(self, limit: int) -> Sequence[SetAside]:
        """One query."""
        with translated("Query"):
            items = self.client.query(
                TableName=self.table,
                KeyConditionExpression="#pk = :pk",
                ExpressionAttributeNames={"#pk": n.PK},
                ExpressionAttributeValues={":pk": string(ASIDE)},
                Limit=limit,
            )["Items"]
        return [
            SetAside(
                number=read_string(item, n.SK),
                reason=read_string(item, REASON),
                record=unpacked(item[n.DOCUMENT]),
            )
            for item in items
        ]

    def forget_aside(self, number: str) -> None:
        """One delete."""
        with translated("DeleteItem"):
            self.client.delete_item(
                TableName=self.table, Key={n.PK: string(ASIDE), n.SK: string(number)}
            )
