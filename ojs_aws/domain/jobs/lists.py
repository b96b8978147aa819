"""Describes the lists of jobs, and pages of them."""

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

    @property
    def due(self) -> Instant:
        """Return when a row of the waiting list is due."""
        return Instant(int(self.sort_key))


@dataclass(frozen=True, slots=True)
class Head:
    """Holds the first ready jobs of a queue, in fetch order, and whether the queue is paused.

    :ivar limit: the policy that limits the whole queue, as JSON text; empty for none.
    :ivar visibility_timeout_ms: reservation length that the queue's settings name, if they do.
    """

    jobs: tuple[ListedJob, ...]
    is_paused: bool = False
    limit: str = ""
    visibility_timeout_ms: int | None = None


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
