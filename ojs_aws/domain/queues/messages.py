"""Describes the messages of SQS queues."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """Says that one job of this queue may run, probably this one.

    :ivar sort_key: the job's place in the ready list, empty when it was not ready yet.
    """

    job_id: str
    sort_key: str = ""
    timeout_ms: int | None = None
    visibility_timeout_ms: int | None = None


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
