"""Declares the store of queues' settings, and the counters of bounded queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant


class QueueState(StrEnum):
    """Says whether a queue takes jobs (ojs-queue-config, 5.1); pausing is stored elsewhere."""

    ACTIVE = "active"
    DRAINING = "draining"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """Holds what was set for a queue.

    :ivar members: as ``domain.queue_config`` keeps them, the queue's limit not among them.
    :ivar revision: writes so far; 0 where nothing was ever set.
    :ivar by: who wrote the last one; empty where nobody knows.
    """

    queue: str
    members: Mapping[str, JsonValue] = field(default_factory=dict)
    revision: int = 0
    state: QueueState = QueueState.ACTIVE
    created_at: Instant | None = None
    updated_at: Instant | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class LimitChange:
    """Holds a new limit of the whole queue as JSON text; None for no limit."""

    policy: str | None


class StaleSettingsError(Exception):
    """Reports that the settings have changed since they were read."""


class SettingsBook(Protocol):
    """Stores the settings of queues."""

    def load(self, queues: Sequence[str]) -> dict[str, QueueSettings]:
        """Read the settings of some queues in one strongly consistent call, if they have any."""

    def all(self) -> list[QueueSettings]:
        """Return all settings, by name."""

    def save(
        self, before: QueueSettings, after: QueueSettings, limit: LimitChange | None = None
    ) -> None:
        """Replace one revision by the next, and the queue's limit in the same transaction.

        FETCH learns of the visibility timeout from the head of the ready list.

        :raises StaleSettingsError: the stored ones are no longer ``before``.
        """


@dataclass(frozen=True, slots=True)
class Depth:
    """Counts the jobs of a bounded queue that have not ended.

    :ivar version: changes so far; the same twice means that nothing was counted between.
    """

    jobs: int
    version: int = 0


class QueueIsFullError(Exception):
    """Reports that the queue has no room for this many jobs.

    :ivar depth: how many there are.
    """

    def __init__(self, depth: int) -> None:
        """Keep the depth."""
        super().__init__("the queue is full")
        self.depth = depth


class Depths(Protocol):
    """Counts the jobs of bounded queues. Queues without a bound are not counted."""

    def take(self, queue: str, count: int, bound: int) -> int:
        """Count jobs that are about to be stored, in one conditional write.

        :returns: the depth with them.
        :raises QueueIsFullError: there would be more than ``bound``; nothing is counted.
        """

    def add(self, queue: str, amount: int) -> int | None:
        """Count jobs that were added or are gone; one write.

        :returns: the depth after it; None, and nothing is counted, for a queue without a bound.
        """

    def load(self, queue: str) -> Depth | None:
        """Return the depth, strongly consistent; None for a queue without a bound."""

    def correct(self, queue: str, jobs: int, seen: Depth | None) -> bool:
        """Set the depth to a count by reading, if nothing has changed since ``seen``."""

    def forget(self, queue: str) -> None:
        """Stop counting a queue."""

    def count(self, queue: str, most: int) -> int:
        """Count by reading the lists, up to about ``most`` jobs; one query reads thousands."""


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


class Pressures(Protocol):
    """Stores what producers' processes leave for the stream to publish."""

    def warn(self, pressure: Pressure) -> None:
        """Note that a queue went above its threshold, or below it; one write."""

    def reject(self, pressure: Pressure) -> None:
        """Count ``rejected`` jobs that found no place; one write."""
