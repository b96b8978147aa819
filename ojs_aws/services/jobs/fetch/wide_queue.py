"""Looks at some lines of a wide queue for a FETCH: those of its messages, and one in rotation.

A message is a permission to run one job of its line. So what holds for the messages and the list of
a queue with one line holds for each line of a wide one; those of ended jobs may wake jobs of other
lines (``wakes``). The line in rotation is there for jobs that are more urgent, and for those whose
message was lost: they are claimed without a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from ojs_aws.domain.jobs.lists import Head, ListedJob, Page
from ojs_aws.domain.jobs.ready_keys import begins_share, is_fair, rank_of, virtual_start
from ojs_aws.domain.queues import ReceivedMessage
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
from ojs_aws.services.jobs.fetch.wakes import woken

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

BEHIND_US: Final = 5_000_000
"""A job of the line in rotation counts as if it had become available so much later (microseconds).

Its own message will bring a worker to it, and who is faster makes that message useless. A job that
has been waiting for so much longer than those of the other lines has lost its message, probably."""

FIRST_EVERY: Final = 32
"""In a fair queue, one look of so many takes the job of the line in rotation first.

It must not matter whose job that is: when it became available says nothing there of its turn."""

ReadT = TypeVar("ReadT")


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
        is_turn = self.wide.clock.order() % FIRST_EVERY == 0
        return LinesInTurn(claims, further=self.further, is_turn=is_turn, elsewhere=self.elsewhere)

    def elsewhere(self) -> list[Candidate]:
        """Return the first ready jobs of all other lines, in the order of their sort keys.

        Runs a query for each line.
        """
        reads = [
            partial(self.wide.store.head, self.queue, PAGE, shard)
            for shard in range(self.wide.lines[self.queue])
            if shard not in self.shards
        ]
        heads = [each for each in self.wide.parallel.each(_call, reads) if not each.is_paused]
        return [*map(shown, _merged(heads).jobs)]


def _call(read: Callable[[], ReadT]) -> ReadT:
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

    Each line of a fair queue has a virtual time of its own. So jobs of different lines compare by
    how far behind the head of their line they are; first come those that begin a key's turn.

    :ivar further: the line in rotation, of which no message is held.
    :ivar is_turn: whether that line goes first in a fair queue.
    :ivar heads: where each line of a fair queue was in virtual time, by the priority.
    :ivar elsewhere: returns the first ready jobs of all other lines.
    """

    further: int | None = None
    is_turn: bool = False
    heads: dict[tuple[int, str], int] = field(default_factory=dict)
    elsewhere: Callable[[], Sequence[Candidate]] = tuple

    def first(self, look: QueueSnapshot) -> list[Candidate]:
        """Return the jobs of the lines; note where each line is in virtual time.

        Behind them come those of other lines that wait for slots of ended jobs.
        """
        rows = look.head.jobs
        if any(is_fair(row.sort_key) for row in rows):
            for row in rows:
                place = row.shard, rank_of(row.sort_key)
                self.heads.setdefault(place, virtual_start(row.sort_key))
        line = QueueLine.first(self, look)
        return [*line, *woken(self.claims, line, self.elsewhere)]

    def turn(self, candidate: Candidate) -> tuple[bool, str, bool, str]:
        """Return a candidate's sort key; one of the line in rotation comes later than it would.

        One that a message wakes comes first: as if it were the message of its line.
        """
        if candidate.id in self.claims.woken:
            return False, "", False, candidate.sort_key
        turn = QueueLine.turn(self, candidate)
        if self.claims.lost:
            return turn
        if self.heads:
            return turn[0], self._fair_turn(candidate), turn[2], turn[3]
        if candidate.shard != self.further:
            return turn
        return turn[0], later(turn[1]), turn[2], turn[3]

    def _fair_turn(self, candidate: Candidate) -> str:
        """Return what orders the jobs of a priority where virtual times differ."""
        is_further = candidate.shard == self.further
        head = self.heads.get((candidate.shard, candidate.rank))
        return fair_turn(candidate.sort_key, head, is_preferred=is_further is self.is_turn)


def fair_turn(sort_key: str, head: int | None, *, is_preferred: bool) -> str:
    """Return what orders fair jobs of several lines.

    :param head: where its line is in virtual time; None where it has shown no job of the priority.
    :param is_preferred: whether its line goes before others with equal jobs.
    """
    start = virtual_start(sort_key)
    behind = 0 if head is None else max(0, start - head)
    return f"{rank_of(sort_key)}#{not begins_share(sort_key):d}{not is_preferred:d}{behind:019d}"


def later(sort_key: str) -> str:
    """Return a sort key as of a job that became available later, of the same priority."""
    rank, _, behind = sort_key.partition("#")
    return f"{rank}#{int(behind[:16]) + BEHIND_US:016d}{behind[16:]}"
