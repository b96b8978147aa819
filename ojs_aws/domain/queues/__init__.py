"""Describes queues: what was set for one, how full it is, its latest sweep, and its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from ojs_aws.domain.bindings import Suspension
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant

LATE_MS: Final = 180_000
"""A sweep that ended before, or was behind by more, is late (milliseconds)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueInfo:
    """Describes a queue as the registry knows it.

    :ivar created_at: when it was registered; None where that was not done yet.
    :ivar swept_until: every far job due up to here has its message.
    :ivar sweep_cursor: and so have those due just after it, up to this place in the list; empty
        when the sweep stopped between two instants.
    :ivar paused_by: who paused it, as ``domain.credentials`` stores it; empty where nobody knows.
    :ivar resumed_by: who resumed it last, in the same way.
    :ivar triggers: ids of the Lambda triggers that a pause switched off, until they are on again.
    :ivar suspended: the bindings of the queue to which nothing is dispatched, by their names.
    :ivar bound: the job types of bindings that were registered at the API, by their names.
    """

    name: str
    created_at: Instant | None = None
    paused_at: Instant | None = None
    swept_until: Instant | None = None
    sweep_cursor: str = ""
    triggers: tuple[str, ...] = ()
    paused_by: str = ""
    resumed_by: str = ""
    suspended: Mapping[str, Suspension] = field(default_factory=dict)
    bound: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LastTick:
    """Says when the sweep last ended, and how far behind it was.

    :ivar lag_ms: for how long the most overdue job without a message had been due.
    :ivar oldest: since when the longest waiting ready job has been ready, of any priority, by
        queue, of the queues that wait longest. Paused ones are left out.
    """

    at: Instant
    lag_ms: int
    oldest: Mapping[str, Instant] = field(default_factory=dict)

    def is_late(self, now: Instant) -> bool:
        """Return whether the sweep, which comes each minute, missed three of them."""
        return max(now - self.at, self.lag_ms) > LATE_MS


class QueueState(StrEnum):
    """Says whether a queue takes jobs (ojs-queue-config, 5.1); pausing is stored elsewhere."""

    ACTIVE = "active"
    DRAINING = "draining"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """Holds what was set for a queue.

    :ivar members: as ``domain.queues.config`` keeps them, the queue's limit not among them.
    :ivar revision: writes so far; 0 where nothing was ever set.
    :ivar by: who wrote the last one; empty where nobody knows.
    :ivar run_times: how long its jobs ran, as ``domain.fairness`` writes it; empty
        where nobody wants to know, or nothing is known.
    """

    queue: str
    members: Mapping[str, JsonValue] = field(default_factory=dict)
    revision: int = 0
    state: QueueState = QueueState.ACTIVE
    created_at: Instant | None = None
    updated_at: Instant | None = None
    by: str = ""
    run_times: str = ""


@dataclass(frozen=True, slots=True)
class LimitChange:
    """Holds a new limit of the whole queue as JSON text; None for no limit."""

    policy: str | None


@dataclass(frozen=True, slots=True)
class Depth:
    """Counts the jobs of a bounded queue that have not ended.

    :ivar version: changes so far; the same twice means that nothing was counted between.
    :ivar is_whole: whether the jobs are in it that were there before it.
    """

    jobs: int
    version: int = 0
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """Holds what events report of a bounded queue.

    :ivar is_warned: whether its depth is above the warning threshold.
    :ivar rejected: jobs that found no place so far.
    :ivar job_type: of the last one.
    :ivar depth: when this was written.
    """

    queue: str
    at: Instant
    is_warned: bool = False
    rejected: int = 0
    job_type: str = ""
    depth: int = 0
    bound: int = 0


class Triggers(Protocol):
    """Switches the triggers by which SQS invokes the Lambda workers of a queue."""

    def running(self, queue: str) -> list[str]:
        """Return the ids of the triggers that are on."""

    def stopped(self, queue: str) -> list[str]:
        """Return the ids of the triggers that are off."""

    def switch(self, ids: Sequence[str], *, is_on: bool) -> None:
        """Switch triggers on or off; a missing one is no error."""


@dataclass(frozen=True, slots=True)
class Message:
    """Says that one job of this queue may run, probably this one.

    :ivar sort_key: the job's place in the ready list, empty when it was not ready yet.
    :ivar shard: the line of its queue that the job stands in.
    """

    job_id: str
    sort_key: str = ""
    timeout_ms: int | None = None
    visibility_timeout_ms: int | None = None
    shard: int = 0


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """Holds a received message, until its visibility timeout ends."""

    message: Message
    handle: str
    receive_count: int = 1


@dataclass(frozen=True, slots=True)
class Backlog:
    """Says about how many messages a queue has.

    :ivar visible: not delayed, and in nobody's hands.
    :ivar hidden: in somebody's hands, or set aside for a while.
    :ivar delayed: sent, and not visible yet.
    """

    visible: int = 0
    hidden: int = 0
    delayed: int = 0

    @property
    def total(self) -> int:
        """Return the number of all messages, whatever they wait for."""
        return self.visible + self.hidden + self.delayed
