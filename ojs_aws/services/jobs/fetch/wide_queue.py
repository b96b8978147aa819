"""Looks at some lines of a wide queue for a FETCH: those of its messages, and one in rotation.

A message is a permission to run one job of its line. So what holds for the messages and the list of
a queue with one line holds for each line of a wide one. The line in rotation is there for jobs that
are more urgent, and for those whose message was lost: they are claimed without a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.jobs.lists import Head, ListedJob, Page
from ojs_aws.domain.jobs.ready_keys import is_fair
from ojs_aws.domain.queues.state import ReceivedMessage
from ojs_aws.domain.runtime import Clock, Parallel
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import (
    HEAD_SPARE,
    MARKS,
    PAGE,
    Candidate,
    QueueSnapshot,
    shown,
)
from ojs_aws.services.jobs.fetch.job_claims import JobClaims
from ojs_aws.services.jobs.fetch.queue_line import QueueLine

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

BEHIND_US: Final = 5_000_000
"""A job of the line in rotation counts as if it had become available so much later (microseconds).

Its own message will bring a worker to it, and who is faster makes that message useless. A job that
has been waiting for so much longer than those of the other lines has lost its message, probably."""


@dataclass(slots=True)
class WideQueues:
    """Chooses the lines that a FETCH looks at.

    :ivar lines: how many lines each wide queue may have jobs in.
    """

    lines: Mapping[str, int]
    store: JobStore
    clock: Clock
    parallel: Parallel
    _next: dict[str, int] = field(default_factory=dict)

    def look(
        self, queue: str, received: Sequence[ReceivedMessage], *, goes_further: bool
    ) -> LineLook:
        """Return what looks at the lines that messages name.

        :param goes_further: whether to look at one more line, in rotation.
        """
        named = sorted({each.message.shard for each in received})
        further = self._further(queue, named) if goes_further else None
        shards = named if further is None else [*named, further]
        return LineLook(self, queue, shards, further)

    def _further(self, queue: str, named: Sequence[int]) -> int | None:
        """Return the next line that no message names; None if there is none.

        Each process goes round, from a line of its own.
        """
        lines = self.lines[queue]
        first = self._next.get(queue, self.clock.order() % lines)
        for step in range(lines):
            shard = (first + step) % lines
            if shard not in named:
                self._next[queue] = (shard + 1) % lines
                return shard
        return None


@dataclass(frozen=True, slots=True)
class LineLook:
    """Looks at lines of a wide queue, all at the same time.

    :ivar further: the one of them in rotation, of which no message is held.
    """

    wide: WideQueues
    queue: str
    shards: Sequence[int]
    further: int | None

    def __call__(self, need: int) -> QueueSnapshot:
        """Return the first jobs of these lines, in the order of their sort keys.

        Runs two queries for each line.
        """
        queue, store, now = self.queue, self.wide.store, self.wide.clock.now()
        limit = max(PAGE, need + HEAD_SPARE)
        reads: list[Callable[[], Head | Page]] = []
        for shard in self.shards:
            reads.append(partial(store.head, queue, limit, shard))
            reads.append(partial(store.due, queue, Instant(0), now, limit, shard=shard))
        found = list(self.wide.parallel.each(_call, reads))
        heads = [each for each in found if isinstance(each, Head)]
        due = [row for each in found if isinstance(each, Page) for row in each.jobs]
        full = [head for head in heads if len(head.jobs) >= limit - MARKS]
        return QueueSnapshot(
            _merged(heads),
            Page(tuple(sorted(due, key=_order))),
            is_partial=bool(full),
            hidden_rank=min((shown(head.jobs[-1]).rank for head in full), default=""),
        )

    def line(self, claims: JobClaims) -> QueueLine:
        """Return what lists the jobs of these lines for a round."""
        return LinesInTurn(claims, further=self.further)


def _call(read: Callable[[], Head | Page]) -> Head | Page:
    return read()


def _order(row: ListedJob) -> tuple[str, int]:
    return row.sort_key, row.shard


def _merged(heads: Sequence[Head]) -> Head:
    """Return one head; what a line says of the queue holds for all, should one be late."""
    lengths = (head.visibility_timeout_ms for head in heads)
    return Head(
        tuple(sorted((row for head in heads for row in head.jobs), key=_order)),
        is_paused=any(head.is_paused for head in heads),
        limit=next((head.limit for head in heads if head.limit), ""),
        visibility_timeout_ms=next((each for each in lengths if each is not None), None),
        is_fair=any(head.is_fair for head in heads),
    )


@dataclass(slots=True)
class LinesInTurn(QueueLine):
    """Lists the jobs of some lines that may be claimed, in fetch order.

    :ivar further: the line in rotation, of which no message is held.
    """

    further: int | None = None

    def turn(self, candidate: Candidate) -> tuple[bool, str, bool, str]:
        """Return a candidate's sort key; one of the line in rotation comes later than it would."""
        turn = QueueLine.turn(self, candidate)
        if candidate.shard != self.further or self.claims.lost:
            return turn
        return turn[0], later(turn[1]), turn[2], turn[3]


def later(sort_key: str) -> str:
    """Return a sort key as of a job that became available later, of the same priority."""
    if is_fair(sort_key):
        return sort_key
    rank, _, behind = sort_key.partition("#")
    return f"{rank}#{int(behind[:16]) + BEHIND_US:016d}{behind[16:]}"
