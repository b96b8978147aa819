"""Which queues there are, and what invokes their Lambda workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ojs_aws.domain.timestamps import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueInfo:
    """A queue as the registry knows it.

    :ivar created_at: when it was registered; None where that was not done yet.
    :ivar swept_until: every far job due up to here has its message.
    :ivar sweep_cursor: and so have those due just after it, up to this place in the list; empty
        when the sweep stopped between two instants.
    :ivar triggers: ids of the Lambda triggers that a pause switched off, until they are on again.
    """

    name: str
    created_at: Instant | None = None
    paused_at: Instant | None = None
    swept_until: Instant | None = None
    sweep_cursor: str = ""
    triggers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastTick:
    """When the sweep last ended, and how far behind it was.

    :ivar lag_ms: for how long the most overdue job without a message had been due.
    """

    at: Instant
    lag_ms: int


class QueueRegistry(Protocol):
    """Which queues there are, and what the sweep did for them."""

    def ensure(self, queue: str, now: Instant) -> None:
        """Make a queue exist on its first use; no call for one that is known to.

        :raises NotFoundError: the queue is not declared and undeclared ones are not allowed.
        """

    def note(self, queue: str, now: Instant) -> None:
        """Remember a queue that has jobs but no message yet; no call for one that is known."""

    def register(self, queue: str, now: Instant) -> None:
        """Write down that there is a queue; its first registration counts.

        A declared queue is known without it as long as it is declared.
        """

    def all(self) -> list[QueueInfo]:
        """Every declared or used queue, by name."""

    def load(self, queue: str) -> QueueInfo | None:
        """A declared or used queue, strongly consistent."""

    def pause(self, queue: str, triggers: Sequence[str], now: Instant) -> QueueInfo:
        """Pause a queue in one write; one that is paused keeps the time of its first pause.

        FETCH learns of it from the head of the ready list.

        :param triggers: ids of the Lambda triggers that are about to be switched off.
        :returns: the queue after it.
        """

    def resume(self, queue: str) -> QueueInfo | None:
        """Let a queue be fetched from again, in one write.

        :returns: the queue before it; None, and nothing is written, when it has no item.
        """

    def note_triggers(self, queue: str, triggers: Sequence[str]) -> bool:
        """Remember more triggers that are about to be switched off, while the queue is paused.

        :returns: False, and nothing is written, when it is not.
        """

    def forget_triggers(self, queue: str) -> None:
        """Note that the Lambda triggers of a queue are on again; not while it is paused."""

    def remember_sweep(self, queue: str, until: Instant, cursor: str = "") -> None:
        """Remember that far jobs due up to here have their messages. Never moves back.

        :param cursor: how far beyond, among jobs of one instant (see :class:`QueueInfo`).
        """

    def remember_tick(self, tick: LastTick) -> None:
        """Remember the end of a sweep of all queues."""

    def last_tick(self) -> LastTick | None:
        """What :meth:`remember_tick` was last told, if anything."""


class Triggers(Protocol):
    """The triggers by which SQS invokes the Lambda workers of a queue."""

    def running(self, queue: str) -> list[str]:
        """Ids of the triggers that are on."""

    def switch(self, ids: Sequence[str], *, is_on: bool) -> None:
        """Switch triggers on or off; one that is gone is no error."""
