"""Stores large batches: a log in parts, one deciding record, and a row while it is open.

    batch#<id>   <token>#0000#0   the jobs of a part, deflated
    batch#<id>   decision         committed, with the token of its log; or given up
    batches      <time>#<id>      a committed batch whose jobs may not all be in their places
    lost-batches <time>#<id>      one of which some jobs never will be: something of its log is gone

The decision and the row are written in one transaction. Parts and decisions go by their TTL.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    deflate,
    inflate,
    number,
    read_count,
    read_string,
    string,
)
from ojs_aws.adapters.dynamodb.images import read_values
from ojs_aws.adapters.dynamodb.jobs.codec import Retention, from_item, to_item
from ojs_aws.adapters.dynamodb.table import (
    InTable,
    condition,
    delete_part,
    first_failed,
    item_key,
    key_in,
    put_part,
)
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.conflicts import LogLostError
from ojs_aws.domain.jobs.batches import Decision, OpenBatch, StagedJob
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import BATCHES_PARTITION

KEPT_S: Final = 7 * 86_400
"""How long logs and decisions stay: far longer than any request or outage (seconds)."""

LOST: Final = "lost-batches"
LOST_KEPT_S: Final = 90 * 86_400
"""How long the row of a lost batch stays, for people to look at (seconds)."""

PART_JOBS: Final = 250
PART_BYTES: Final = 350_000
"""A part's size once it is deflated; DynamoDB takes items of 400 KB."""

DECISION: Final = "decision"

JOBS: Final = "js"
PIECES: Final = "np"
LOG: Final = "lo"
SIZES: Final = "sz"
MARKS: Final = "mk"
DONE: Final = "dn"


@dataclass(frozen=True, slots=True)
class Batches(InTable):
    """Stores logs of batches. What was never committed expires after some days.

    :ivar token: makes the name of a log.
    :ivar part_jobs: how many jobs a part has at most.
    """

    retention: Retention
    token: Callable[[], str]
    part_jobs: int = PART_JOBS

    def stage(self, batch_id: str, token: str, jobs: Sequence[StagedJob]) -> tuple[int, ...]:
        """Write the log of a batch; nobody reads it before the batch is committed.

        Makes one put for each part; more only for a job that is too large for one.

        :returns: how many jobs each part has.
        """
        sizes: list[int] = []
        now = max((job.record.created_at for job in jobs), default=Instant(0))
        for size, data in self._parts(jobs):
            for piece in range(_pieces(data)):
                item = {
                    **item_key(_pk(batch_id), _part_sk(token, len(sizes), piece)),
                    JOBS: {"B": data[piece * PART_BYTES : (piece + 1) * PART_BYTES]},
                    PIECES: number(_pieces(data)),
                    n.TTL: number(now // 1000 + KEPT_S),
                }
                self.put_item(item)
            sizes.append(size)
        return tuple(sizes)

    def _parts(self, jobs: Sequence[StagedJob]) -> list[tuple[int, bytes]]:
        """Yield parts of even size, halved if they do not fit an item."""
        made: list[tuple[int, bytes]] = []
        waiting = [jobs[at : at + self.part_jobs] for at in range(0, len(jobs), self.part_jobs)]
        while waiting:
            part = waiting.pop(0)
            data = deflate(self._text(part).encode())
            if len(data) > PART_BYTES and len(part) > 1:
                half = len(part) // 2
                waiting[:0] = [part[:half], part[half:]]
            else:
                made.append((len(part), data))
        return made

    def _text(self, jobs: Sequence[StagedJob]) -> str:
        """Return the items of jobs as JSON with readable documents, which deflate better."""
        items = []
        for job in jobs:
            item = to_item(job.record, self.retention)
            if isinstance(job.record.document, str):
                item[n.DOCUMENT] = string(job.record.document)
            items.append([item, job.replaces, *([True] if job.is_last else [])])
        return json.dumps(items, separators=(",", ":"), ensure_ascii=False, default=_base64)

    def decide(self, batch_id: str, commit: OpenBatch | None, now: Instant) -> Decision:
        """Commit a batch, or give it up (``commit`` is None), unless this is already decided.

        Makes one conditional put to give up, or one transaction to commit.

        :returns: what stands: the first decision is the last.
        """
        item: Item = {**item_key(_pk(batch_id), DECISION), n.TTL: number(now // 1000 + KEPT_S)}
        is_first = condition("attribute_not_exists(#pk)")
        if commit is None:
            try:
                self.put_item(item, is_first)
            except ConditionFailedError as failed:
                return _decision(failed.item)
            return Decision()
        item[LOG] = string(commit.token)
        actions = [put_part(self.table, item, is_first), put_part(self.table, _row(commit))]
        if reasons := self.transact_write_items(actions, first_failed):
            return _decision(reasons[0][1])
        return Decision(commit.token)

    def decided(self, batch_id: str) -> Decision | None:
        """Return the decision on a batch, strongly consistent; None while there is none.

        Makes one consistent read.
        """
        return self.load_item(item_key(_pk(batch_id), DECISION), _decision)

    def open(self) -> list[OpenBatch]:
        """Return committed batches whose jobs may not all be in their places, oldest first.

        Strongly consistent: a batch that is committed and not closed is among them.

        Runs one consistent query, of as many pages as there are.
        """
        items = self.items("#pk = :pk", {"pk": string(BATCHES_PARTITION)}, ConsistentRead=True)
        return [_open(item) for item in items]

    def part(self, batch: OpenBatch, number: int) -> list[StagedJob]:
        """Return the jobs of one part of a batch's log.

        Makes one consistent read; for a very large job some more.

        :raises LogLostError: it is gone.
        """
        data, pieces = b"", 1
        for piece in count():
            if piece == pieces:
                break
            item = self.get_item(item_key(_pk(batch.id), _part_sk(batch.token, number, piece)))
            if not item:
                raise LogLostError(f"Part {number} of batch '{batch.id}' is missing.")
            data += bytes(item[JOBS]["B"])
            pieces = read_count(item, PIECES) or 1
        listed: list[Any] = json.loads(inflate(data))
        return [StagedJob(from_item(read_values(image)), *more) for image, *more in listed]

    def done(self, batch: OpenBatch) -> int:
        """Return how many parts of a batch, counted from the first, are in their places.

        Makes one consistent read.

        :raises LogLostError: nobody knows any more.
        """
        item = self.get_item(item_key(_pk(batch.id), DECISION))
        if not item:
            raise LogLostError(f"The outcome of batch '{batch.id}' is no longer known.")
        return read_count(item, DONE)

    def advance(self, batch: OpenBatch, done: int) -> None:
        """Note that the first parts are in their places.

        Makes one update.
        """
        update = Update()
        update.set(DONE, number(done))
        self.update_item(item_key(_pk(batch.id), DECISION), update)

    def close(self, batch: OpenBatch) -> None:
        """Close a batch: all its jobs are in their places.

        Makes one delete.
        """
        self.delete_item(key_in(_row(batch)))

    def abandon(self, batch: OpenBatch, now: Instant) -> None:
        """Give up a committed batch of which some jobs are lost.

        What is known of the batch is kept for some months.

        Makes one transaction, which moves the row.
        """
        row = _row(batch)
        kept = row | {n.PK: string(LOST), n.TTL: number(now // 1000 + LOST_KEPT_S)}
        self.transact_write_items(
            [put_part(self.table, kept), delete_part(self.table, key_in(row))]
        )


def _pk(batch_id: str) -> str:
    return f"batch#{batch_id}"


def _part_sk(token: str, number: int, piece: int) -> str:
    return f"{token}#{number:04d}#{piece}"


def _pieces(data: bytes) -> int:
    """Return how many items the text of a part needs."""
    return max(1, -(-len(data) // PART_BYTES))


def _row(batch: OpenBatch) -> Item:
    return {
        **item_key(BATCHES_PARTITION, f"{n.instant_key(batch.committed_at)}#{batch.id}"),
        LOG: string(batch.token),
        SIZES: string(",".join(map(str, batch.sizes))),
        MARKS: {"B": batch.marks},
    }


def _open(item: Item) -> OpenBatch:
    at, _, batch_id = read_string(item, n.SK).partition("#")
    return OpenBatch(
        id=batch_id,
        token=read_string(item, LOG),
        committed_at=Instant(int(at)),
        sizes=tuple(int(size) for size in read_string(item, SIZES).split(",")),
        marks=bytes(item[MARKS]["B"]),
    )


def _decision(item: Item) -> Decision:
    return Decision(read_string(item, LOG))


def _base64(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(type(value).__name__)
    return base64.b64encode(value).decode()
