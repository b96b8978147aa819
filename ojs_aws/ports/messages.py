"""Declares the SQS queues behind the OJS queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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


class QueueMissingError(Exception):
    """Reports that this OJS queue has no SQS queue yet; the registry can make one."""


class MessageQueue(Protocol):
    """Sends and receives messages of the SQS queues. Times are in whole seconds.

    Nothing may be concluded from an answer: messages repeat, reorder and come late. Sending
    raises QueueMissingError, receiving finds nothing, where no SQS queue exists.
    """

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Send a message that becomes visible after 0 to 900 seconds."""

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Send messages with their delays, ten to a call."""

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Receive up to ten messages; unreadable ones are moved to the dead-letter queue."""

    def reject(self, queue: str, body: str) -> None:
        """Send an unreadable body to the dead-letter queue, with the queue's name."""

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages, ten to a call. A handle that is too old is no error."""

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Hide messages for this many seconds from now (0 to 43,200)."""

    def backlog(self, queue: str) -> Backlog:
        """Count the messages of a queue, roughly."""
