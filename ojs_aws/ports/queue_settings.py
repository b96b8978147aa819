"""The settings of queues, and how full bounded queues are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import Instant


class QueueState(StrEnum):
    """Whether a queue takes jobs (ojs-queue-config, section 5.1); pausing is kept elsewhere."""

    ACTIVE = "active"
    DRAINING = "draining"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """What was set for a queue.

    :ivar members: as ``domain.queue_config`` keeps them, the queue's limit not among them.
    :ivar revision: writes so far; 0 where nothing was ever set.
    """

    queue: str
    members: Mapping[str, JsonValue] = field(default_factory=dict)
    revision: int = 0
    state: QueueState = QueueState.ACTIVE
    created_at: Instant | None = None
    updated_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class LimitChange:
    """A new limit of the whole queue, as JSON text; None for no limit."""

    policy: str | None


class StaleSettingsError(Exception):
    """The settings have changed since they were read."""


class SettingsBook(Protocol):
    """The settings of queues."""

    def load(self, queues: Sequence[str]) -> dict[str, QueueSettings]:
        """Read those of some queues in one call, strongly consistent; absent ones are left out."""

    def all(self) -> list[QueueSettings]:
        """All settings, by name."""

    def save(
        self, before: QueueSettings, after: QueueSettings, limit: LimitChange | None = None
    ) -> None:
        """Replace one revision by the next, and the queue's limit in the same transaction.

        FETCH learns of the visibility timeout from the head of the ready list.

        :raises StaleSettingsError: the stored ones are no longer ``before``.
        """


@dataclass(frozen=True, slots=True)
class Depth:
    """How many jobs of a bounded queue have not ended.

    :ivar version: changes so far; the same twice means that nothing was counted between.
    """

    jobs: int
    version: int = 0


class QueueIsFullError(Exception):
    """There is no place for so many more jobs.

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
        """Count jobs that are there, or are there no more; one write.

        :returns: the depth after it; None, and nothing is counted, for a queue without a bound.
        """

    def load(self, queue: str) -> Depth | None:
        """What is counted, strongly consistent; None for a queue without a bound."""

    def correct(self, queue: str, jobs: int, seen: Depth | None) -> bool:
        """Set the depth to what was counted by reading, if nothing has changed since ``seen``."""

    def forget(self, queue: str) -> None:
        """Count a queue no more."""

    def count(self, queue: str, most: int) -> int:
        """Count by reading the lists, up to about ``most`` jobs; costs one query for thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """What is to be told of a bounded queue.

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
    """What producers' processes leave for the stream to tell."""

    def warn(self, pressure: Pressure) -> None:
        """Note that a queue came above its threshold, or fell below it; one write."""

    def reject(self, pressure: Pressure) -> None:
        """Add ``rejected`` jobs that found no place; one write."""
