"""The event log: an item for each lifecycle event, in partitions of an hour, kept by TTL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.cursors import decode_cursor, encode_cursor
from ojs_aws.adapters.dynamodb.values import Item, number, packed, read_string, string, unpacked
from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Event, EventPage, EventQuery

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HOUR_MS: Final = 3_600_000
KIND: Final = "k"
SUBJECT: Final = "su"
WRITE_BATCH: Final = 25
WRITE_TRIES: Final = 5
READ_PAGE: Final = 200
MAX_QUERIES: Final = 30
"""Queries that one read may cost; the cursor goes on from there."""


@dataclass(frozen=True, slots=True)
class DynamoEventLog:
    """The port EventLog over the table.

    :ivar announce: passes the events on to the bus; called before they are logged.
    """

    client: DynamoDBClient
    table: str
    retention_s: int
    announce: Callable[[list[Event]], None]

    def publish(self, events: Iterable[Event]) -> None:
        """One batch write per 25 events; a repeated event is written over itself."""
        known = {event.id: event for event in events}
        chosen = list(known.values())
        if not chosen:
            return
        self.announce(chosen)
        for begin in range(0, len(chosen), WRITE_BATCH):
            self._write([self._item(event) for event in chosen[begin : begin + WRITE_BATCH]])

    def _write(self, items: list[Item]) -> None:
        requests: Any = {self.table: [{"PutRequest": {"Item": item}} for item in items]}
        for _ in range(WRITE_TRIES):
            with translated("BatchWriteItem"):
                requests = self.client.batch_write_item(RequestItems=requests)["UnprocessedItems"]
            if not requests:
                return
        raise BackendError("The event log is throttled.", hint="Publish the events again.")

    def _item(self, event: Event) -> Item:
        return {
            n.PK: string(_partition(event.time // HOUR_MS)),
            n.SK: string(f"{n.instant_key(event.time)}#{event.id}"),
            KIND: string(event.type),
            n.QUEUE: string(event.queue),
            SUBJECT: string(event.subject),
            n.DOCUMENT: packed(event.data),
            n.TTL: number(event.time // 1000 + self.retention_s),
        }

    def read(self, query: EventQuery, now: Instant) -> EventPage:
        """Query the hours one after the other, from the cursor or the oldest one kept.

        Reading from the beginning skips to the newest events: without a cursor the answer ends
        with the latest one.
        """
        if not query.cursor:
            return self._latest(query, now)
        hour, after = self._position(query.cursor)
        oldest = self._oldest(now)
        if hour < oldest:
            hour, after = oldest, n.instant_key(oldest * HOUR_MS)
        return self._forward(query, now, hour, after)

    def _oldest(self, now: Instant) -> int:
        """The oldest hour that may still have events; none need be looked for before it."""
        return (now - self.retention_s * 1000) // HOUR_MS

    def _position(self, cursor: str) -> tuple[int, str]:
        after, _ = decode_cursor(cursor, 2)
        digits = after.partition("#")[0]
        if not digits.isdecimal():
            raise InvalidRequestError(
                "The 'cursor' parameter is not one that this server gave out.",
                details={"field": "cursor"},
            )
        return int(digits) // HOUR_MS, after

    def _forward(self, query: EventQuery, now: Instant, hour: int, after: str) -> EventPage:
        found: list[Event] = []
        for _ in range(MAX_QUERIES):
            items = self._page(hour, after=after)
            for item in items:
                after = read_string(item, n.SK)
                event = _event(item)
                if _matches(query, event):
                    found.append(event)
                if len(found) == query.limit:
                    return EventPage(tuple(found), encode_cursor(after, "e"), has_more=True)
            if len(items) < READ_PAGE:
                if hour >= now // HOUR_MS:
                    return EventPage(tuple(found), encode_cursor(after, "e"))
                hour += 1
                after = n.instant_key(hour * HOUR_MS)
        return EventPage(tuple(found), encode_cursor(after, "e"), has_more=True)

    def _latest(self, query: EventQuery, now: Instant) -> EventPage:
        """The newest matching events, oldest first."""
        found: list[Event] = []
        hour, before, queries = now // HOUR_MS + 1, "", 0
        oldest = self._oldest(now)
        while hour >= oldest and len(found) < query.limit and queries < MAX_QUERIES:
            items = self._page(hour, before=before)
            queries += 1
            for item in items:
                event = _event(item)
                before = read_string(item, n.SK)
                if _matches(query, event) and len(found) < query.limit:
                    found.append(event)
            if len(items) < READ_PAGE:
                hour, before = hour - 1, ""
        found.reverse()
        last = f"{n.instant_key(found[-1].time)}#{found[-1].id}" if found else n.instant_key(now)
        return EventPage(tuple(found), encode_cursor(last, "e"))

    def _page(self, hour: int, *, after: str = "", before: str = "") -> list[Item]:
        condition, values = "#pk = :pk", {":pk": string(_partition(hour))}
        names = {"#pk": n.PK}
        if after or before:
            condition += " AND #sk > :at" if after else " AND #sk < :at"
            names["#sk"] = n.SK
            values[":at"] = string(after or before)
        with translated("Query"):
            answer = self.client.query(
                TableName=self.table,
                KeyConditionExpression=condition,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
                ScanIndexForward=bool(after),
                Limit=READ_PAGE,
            )
        return answer["Items"]


def _partition(hour: int) -> str:
    return f"events#{hour}"


def _matches(query: EventQuery, event: Event) -> bool:
    return (not query.types or event.type in query.types) and (
        not query.queues or event.queue in query.queues
    )


def _event(item: Item) -> Event:
    time, _, event_id = read_string(item, n.SK).partition("#")
    return Event(
        id=event_id,
        type=read_string(item, KIND),
        time=Instant(int(time)),
        queue=read_string(item, n.QUEUE),
        subject=read_string(item, SUBJECT),
        data=RawJson(unpacked(item[n.DOCUMENT])),
    )
