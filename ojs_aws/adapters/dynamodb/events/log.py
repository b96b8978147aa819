"""Stores the event log: one row of numbered chunks; the next append takes the next number.

Each append writes the chunk right behind the last one, on condition that nobody else has. So a
chunk is only written when all chunks before it are there. A reader that goes on behind what it has
seen misses none, however many consumers write, whatever their clocks say and however late an event
is published (decision 12). If the last chunk may have expired and been removed, a new row begins
far behind it (decision 52).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.adapters.aws_errors import error_code, refusals
from ojs_aws.adapters.dynamodb.columns import Item, number, read_number, string
from ojs_aws.adapters.dynamodb.events.aside import AsideRecords
from ojs_aws.adapters.dynamodb.events.chunks import (
    AT,
    HEAD,
    PARTITION,
    START,
    Tail,
    chunk_item,
    in_chunks,
    tail_of,
)
from ojs_aws.adapters.dynamodb.events.reader import EventReader
from ojs_aws.adapters.dynamodb.table import InTable, condition, item_key, put_part, update_part
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.adapters.errors import CANCELLED, is_contended, translated
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.events import Event, EventPage, EventQuery, SetAside
from ojs_aws.domain.timestamps import Instant

MAX_CONFLICTS: Final = 50
"""Times that others may come first; each of them has appended something."""


WARY: Final = 20
"""Appends that read the end first, after another consumer came before one of this process."""


@dataclass(slots=True)
class _Seen:
    """Remembers what a process knows of the end of the log.

    :ivar tail: the chunk that it put last.
    :ivar wary: its next appends that read the end first.
    :ivar refused: puts since they were last asked for.
    """

    tail: Tail | None = None
    wary: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class EventLog(InTable):
    """Stores lifecycle events: appends them, and reads them from any place on.

    :ivar retention_s: how long a chunk is kept, in seconds.
    :ivar new_token: makes a text that no other append has.
    :ivar by_columns: whether chunks hold columns, which earlier versions cannot read.
    """

    retention_s: int
    new_token: Callable[[], str]
    by_columns: bool = False
    _seen: _Seen = field(default_factory=_Seen)

    def append(self, events: Sequence[Event], now: Instant) -> None:
        """Put events at the end, in this order: all at once if they fit one chunk.

        An event that is appended twice stands there twice, under the same id.

        Makes one conditional put per chunk; two more calls if another consumer came first. A
        process that met another one reads the end before its next puts: that costs a twentieth of
        a put that is refused.
        """
        is_wary = self._seen.wary > 0
        self._seen.wary = max(0, self._seen.wary - 1)
        for chunk in in_chunks(events):
            self._append(chunk, now, reads_end=is_wary)
            is_wary = False

    def _append(self, events: Sequence[Event], now: Instant, *, reads_end: bool) -> None:
        token, seen = self.new_token(), self._seen
        known = self._if_last(seen.tail, now)
        tail = None if reads_end else known
        for refused in range(MAX_CONFLICTS):
            tail = tail or self._if_last(self._find_tail(), now)
            if tail is not None:
                written = self._put(tail, events, now, token)
            else:
                written = self._begin(events, now, token)
            if written is not None:
                seen.tail = written
                if refused or (known is not None and tail != known):
                    seen.wary = WARY
                return
            seen.refused += 1
            tail = None
        raise BackendError("Too many consumers append to the event log at once.")

    def take_refused(self) -> int:
        """Return how many puts others came before since the last call; each of them was billed.

        Makes no call.
        """
        count, self._seen.refused = self._seen.refused, 0
        return count

    def _if_last(self, tail: Tail | None, now: Instant) -> Tail | None:
        """Return a chunk if it is surely the last one."""
        return tail if tail is not None and tail.is_surely_last(now, self.retention_s) else None

    def _find_tail(self) -> Tail | None:
        items = self.query(
            "#pk = :pk",
            {"pk": string(PARTITION)},
            ProjectionExpression=f"#sk, #{AT}, #ttl",
            ScanIndexForward=False,
            Limit=1,
            ConsistentRead=True,
        )["Items"]
        return tail_of(items[0]) if items else None

    def _ttl(self, tail: Tail | None, now: Instant) -> int:
        """Return when a chunk behind this one expires: never before this one."""
        return max(now // 1000 + self.retention_s, 0 if tail is None else tail.ttl)

    def _put(self, tail: Tail, events: Sequence[Event], now: Instant, token: str) -> Tail | None:
        """Put a chunk behind another one; None if the place was taken."""
        written = Tail(tail.position + 1, now, self._ttl(tail, now))
        chunk = self._chunk(written, events, now, token)
        try:
            self.put_item(chunk, condition("attribute_not_exists(#pk)"))
        except ConditionFailedError as failed:
            # Our own: the put took effect, and its answer was lost.
            return written if failed.is_own(chunk) else None
        return written

    def _chunk(self, tail: Tail, events: Sequence[Event], now: Instant, token: str) -> Item:
        return chunk_item(tail.position, events, now, tail.ttl, token, by_columns=self.by_columns)

    def _begin(self, events: Sequence[Event], now: Instant, token: str) -> Tail | None:
        """Begin a row of chunks far behind all earlier ones, some of which may have expired.

        Its place is the time: appends come to less than one a millisecond. Who begins notes that
        beside the log, so that only one does, and closes the place behind the last chunk that is
        left with an empty one, so that nobody goes on there. The note is read before that chunk:
        who begins between the two has moved the note, and who began before them is seen.
        """
        before = read_number(self.get_item(item_key(HEAD, HEAD)), START)
        tail = self._find_tail()
        if self._if_last(tail, now) is not None:
            return None  # another one began a row just now
        closed = [] if tail is None else [tail.position + 1]
        position = max([now, *([] if before is None else [before + 1]), *(p + 1 for p in closed)])
        written = Tail(position, now, self._ttl(tail, now))
        chunks = [chunk_item(each, (), now, written.ttl, token) for each in closed]
        chunks.append(self._chunk(written, events, now, token))
        with translated("TransactWriteItems"):
            try:
                self.client.transact_write_items(
                    # A token stands for one request: after a cancelled one the place is another.
                    ClientRequestToken=f"{token}-{position}",
                    TransactItems=[
                        self._moved_head(before, position),
                        *[self._new_chunk(item) for item in chunks],
                    ],
                )
            except refusals() as problem:
                if error_code(problem) != CANCELLED or is_contended(problem):
                    raise
                return None
        return written

    def _moved_head(self, before: int | None, position: int) -> Any:
        """Return the note of where the log begins, unless another one exists."""
        update = Update()
        update.set(START, number(position))
        start = update.name(START)
        if before is None:
            update.when(f"attribute_not_exists({start})")
        else:
            update.when(f"{start} = {update.value(number(before))}")
        return update_part(self.table, item_key(HEAD, HEAD), update)

    def _new_chunk(self, item: Item) -> Any:
        return put_part(self.table, item, condition("attribute_not_exists(#pk)"))

    def read(self, query: EventQuery) -> EventPage:
        """Read events in the order of the log, a bounded part of it at a time.

        Without a cursor, ``after_id`` or ``since`` the page ends with the newest event.

        Runs a few queries at most; chunks that expired but still exist are shown.
        """
        return EventReader(self.client, self.table).read(query)

    def end(self) -> str:
        """Return the cursor behind the newest event, in the form of :attr:`EventPage.cursors`.

        Runs one query of one row.
        """
        return EventReader(self.client, self.table).end()

    def set_aside(self, change: SetAside, now: Instant) -> None:
        """Store a change that makes no events, however long its record is; may be repeated.

        Makes one put, and one more for each part of a record of more than one item.
        """
        AsideRecords(self.client, self.table).put(change, now)

    def aside(self, limit: int) -> Iterator[SetAside]:
        """Yield the first changes that were set aside, by number.

        Runs one query, and makes one read for each part of a long record.
        """
        return AsideRecords(self.client, self.table).read(limit)

    def forget_aside(self, number: str) -> None:
        """Remove a change that was set aside: its events are published.

        Makes one delete, and one more for each part of a long record.
        """
        AsideRecords(self.client, self.table).forget(number)
