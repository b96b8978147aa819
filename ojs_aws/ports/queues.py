"""Declares the registry of queues, and what invokes their Lambda workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueInfo:
    """Describes a queue as the registry knows it.

    :ivar created_at: when it was registered; None where that was not done yet.
    :ivar swept_until: every far job due up to here has its message.
    :ivar sweep_cursor: and so have those due just after it, up to this place in the list; empty
        when the sweep stopped between two instants.
    :ivar paused_by: who paused it, as ``domain.actor`` stores it; empty where nobody knows.
    :ivar resumed_by: who resumed it last, in the same way.
    :ivar triggers: ids of the Lambda triggers that a pause switched off, until they are on again.
    """

    name: str
    created_at: Instant | None = None
    paused_at: Instant | None = None
    swept_until: Instant | None = None
    sweep_cursor: str = ""
    triggers: tuple[str, ...] = ()
    paused_by: str = ""
    resumed_by: str = ""


LATE_MS: Final = 180_000
"""A sweep that ended before, or was behind by more, is late (milliseconds)."""


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


class QueueRegistry(Protocol):
    """Registers queues, and what the sweep did for them."""

    def ensure(self, queue: str, now: Instant) -> None:
        """Create a queue at its first use; no call if it is known to exist.

        :raises NotFoundError: the queue is not declared and undeclared ones are not allowed.
        """

    def note(self, queue: str, now: Instant) -> None:
        """Remember a queue that has jobs but no message yet; no call for a known one."""

    def register(self, queue: str, now: Instant) -> None:
        """Record that a queue exists; its first registration counts.

        A declared queue is known without it as long as it is declared.
        """

    def all(self) -> list[QueueInfo]:
        """Return every declared or used queue, by name."""

    def load(self, queue: str) -> QueueInfo | None:
        """Return a declared or used queue, strongly consistent."""

    def pause(self, queue: str, triggers: Sequence[str], now: Instant, by: str = "") -> QueueInfo:
        """Pause a queue in one write; a paused one keeps the time of its first pause, and by whom.

        FETCH learns of it from the head of the ready list.

        :param triggers: ids of the Lambda triggers that are about to be switched off.
        :param by: who does it.
        :returns: the queue after it.
        """

    def resume(self, queue: str, by: str = "") -> QueueInfo | None:
        """Resume a queue in one write: its jobs can be fetched again.

        :param by: who does it.
        :returns: the queue before it; None, and nothing is written, when it has no item.
        """

    def note_triggers(self, queue: str, triggers: Sequence[str]) -> bool:
        """Remember triggers that are about to be switched off, while the queue is paused.

        :returns: False, and nothing is written, when it is not.
        """

    def forget_triggers(self, queue: str) -> None:
        """Note that the Lambda triggers of a queue are on again, unless it is paused."""

    def remember_sweep(self, queue: str, until: Instant, cursor: str = "") -> None:
        """Remember until when far jobs have their messages. Never moves back.

        :param cursor: how far beyond, among jobs of one instant (see :class:`QueueInfo`).
        """

    def remember_tick(self, tick: LastTick) -> None:
        """Remember the end of a sweep of all queues."""

    def last_tick(self) -> LastTick | None:
        """Return what :meth:`remember_tick` stored last, if anything."""


class Triggers(Protocol):
    """Switches the triggers by which SQS invokes the Lambda workers of a queue."""

    def running(self, queue: str) -> list[str]:
        """Return the ids of the triggers that are on."""

    def switch(self, ids: Sequence[str], *, is_on: bool) -> None:
        """Switch triggers on or off; a missing one is no error."""


HANDLED_MARK: Final = "stream"
"""Name of the mark that says until which tick the stream's consumer has handled changes."""


class Marks(Protocol):
    """Stores instants up to which some upkeep has been done, by name."""

    def read(self, name: str) -> Instant | None:
        """Return the mark; None if there is none yet."""

    def move(self, name: str, until: Instant) -> None:
        """Set a mark, never back."""
