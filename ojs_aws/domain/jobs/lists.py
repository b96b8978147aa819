"""Describes the lists of jobs, pages of them, and their totals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ojs_aws.domain.job import JobState
from ojs_aws.domain.timestamps import Instant


class JobList(StrEnum):
    """Names the lists that the index keeps for each queue."""

    READY = "ready"
    WAITING = "waiting"
    PENDING = "pending"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"
    DEAD_LETTER = "dead_letter"
    """Discarded jobs whose policy keeps them for an operator; not in ``discarded``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRow:
    """Says where a job stands in an item that lists several.

    :ivar key: of the item, within its list.
    :ivar position: of the job in it, from 0 on.
    :ivar size: how many jobs it lists.
    """

    key: str
    position: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """Holds one row of the index: enough to claim or arm a job without reading it.

    :ivar sort_key: place within its list; smaller comes first.
    :ivar is_far: waits for an instant that was beyond the reach of an SQS delay when the job
        began to wait, so that nobody but the sweep sends its message.
    :ivar priority: of a waiting job, if its row has it.
    :ivar shared: where it is listed together with other jobs; None for a row of its own.
    :ivar shard: of a ready or waiting job: the line of its queue.
    """

    id: str
    queue: str
    sort_key: str
    state: JobState
    type: str
    timeout_ms: int | None
    visibility_timeout_ms: int | None
    is_far: bool = False
    priority: int | None = None
    shared: SharedRow | None = None
    shard: int = 0

    @property
    def due(self) -> Instant:
        """Return when a row of the waiting list is due."""
        return Instant(int(self.sort_key))


@dataclass(frozen=True, slots=True)
class Head:
    """Holds the first ready jobs of a queue, in fetch order, and whether the queue is paused.

    :ivar limit: the policy that limits the whole queue, as JSON text; empty for none.
    :ivar visibility_timeout_ms: reservation length that the queue's settings name, if they do.
    :ivar is_fair: whether its jobs stand by virtual starts, so that due ones need a place first.
    :ivar is_uneven: whether the lines of a wide queue do not all say the same of it.
    """

    jobs: tuple[ListedJob, ...]
    is_paused: bool = False
    limit: str = ""
    visibility_timeout_ms: int | None = None
    is_fair: bool = False
    is_uneven: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """Holds a range of instants, both ends included."""

    since: Instant
    until: Instant


@dataclass(frozen=True, slots=True)
class Count:
    """Holds a number of rows; a lower bound if it is not exact.

    :ivar is_most: it is an upper bound instead: jobs that were removed may still be counted.
    """

    rows: int
    is_exact: bool = True
    is_most: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Holds a page of a list. ``cursor`` is empty on the last page."""

    jobs: tuple[ListedJob, ...]
    cursor: str = ""


class TotalKind(StrEnum):
    """Names how sure a total is."""

    EXACT = "exact"
    ESTIMATE = "estimate"
    """From counters that follow the jobs within seconds; it may be above the truth, or below."""

    AT_LEAST = "at_least"
    """A lower bound."""


@dataclass(frozen=True, slots=True)
class ListTotal:
    """Holds the total of a list."""

    number: int
    kind: TotalKind = TotalKind.EXACT

    @property
    def is_exact(self) -> bool:
        """Return whether exactly so many match."""
        return self.kind is TotalKind.EXACT

    def or_counted(self, counted: ListTotal) -> ListTotal:
        """Return what was counted, where the page itself does not show the total.

        An index or a counter may be behind the page, which then knows better.
        """
        if self.is_exact or counted.number < self.number:
            is_estimate = counted.kind is TotalKind.ESTIMATE and not self.is_exact
            return ListTotal(self.number, counted.kind) if is_estimate else self
        return counted


def shown_total(
    shown: int,
    *,
    offset: int = 0,
    is_first: bool = True,
    has_more: bool = False,
    is_followed: bool = False,
) -> ListTotal:
    """Return what a page shows of the total: all of it, or a lower bound.

    :param shown: entries of the page.
    :param offset: entries that were left out before it.
    :param is_first: whether the page begins at the beginning of the list.
    :param has_more: whether there may be more behind it.
    :param is_followed: whether one more is known.
    """
    if is_first and not has_more and (shown or not offset):
        return ListTotal(offset + shown)
    # Behind the end of a list nobody knows how many of those that were left out there are.
    least = offset + shown if shown else 0
    return ListTotal(least + is_followed, TotalKind.AT_LEAST)
