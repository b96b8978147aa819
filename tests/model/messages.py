"""Keeps SQS queues in memory."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ojs_aws.ports import Backlog, Message, QueueMissingError, ReceivedMessage
from ojs_aws.testing.deployment import FakeClock


@dataclass
class _Held:
    message: Message
    visible_at: int
    received: int = 0
    handle: str = ""


@dataclass
class MemoryQueue:
    """Keeps messages as SQS does: delivered at least once, in any order; handles go stale."""

    clock: FakeClock
    queues: dict[str, dict[int, _Held]] = field(default_factory=dict)
    newest_first: bool = False
    rejected: list[tuple[str, str]] = field(default_factory=list)
    _ids: itertools.count[int] = field(default_factory=itertools.count)

    def _of(self, queue: str) -> dict[int, _Held]:
        return self.queues.setdefault(queue, {})

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Send a message."""
        assert 0 <= delay_s <= 900
        self._of(queue)[next(self._ids)] = _Held(message, self.clock.at + delay_s * 1000)

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Send messages."""
        for message, delay in messages:
            self.send(queue, message, delay)

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Receive visible messages."""
        assert limit <= 10
        assert wait_s <= 20
        taken: list[ReceivedMessage] = []
        entries = sorted(self._of(queue).items(), reverse=self.newest_first)
        for key, held in entries:
            if held.visible_at <= self.clock.at and len(taken) < limit:
                held.received += 1
                held.visible_at = self.clock.at + visibility_s * 1000
                held.handle = f"{key}:{held.received}"
                taken.append(ReceivedMessage(held.message, held.handle, held.received))
        return taken

    def reject(self, queue: str, body: str) -> None:
        """Keep the body with the queue's name."""
        self.rejected.append((queue, body))

    def _find(self, queue: str, handle: str) -> int | None:
        for key, held in self._of(queue).items():
            if held.handle == handle:
                return key
        return None

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Delete messages; stale handles do nothing."""
        for handle in handles:
            key = self._find(queue, handle)
            if key is not None:
                del self._of(queue)[key]

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Make messages visible later."""
        for handle, seconds in handles:
            assert 0 <= seconds <= 43_200
            key = self._find(queue, handle)
            if key is not None:
                self._of(queue)[key].visible_at = self.clock.at + seconds * 1000

    def backlog(self, queue: str) -> Backlog:
        """Count the messages by what they wait for."""
        entries = self._of(queue).values()
        waiting = [held for held in entries if held.visible_at > self.clock.at]
        hidden = sum(held.received > 0 for held in waiting)
        return Backlog(len(entries) - len(waiting), hidden, len(waiting) - hidden)


@dataclass(frozen=True)
class NoMessages:
    """Stands for queues that lose every message: who asks finds the jobs in the store.

    :ivar queues: those that there are.
    """

    queues: Collection[str]

    def send(self, queue: str, message: Message, delay_s: int = 0) -> None:
        """Refuse a message to a queue that does not exist, and drop any other."""
        if queue not in self.queues:
            raise QueueMissingError

    def send_all(self, queue: str, messages: Sequence[tuple[Message, int]]) -> None:
        """Refuse messages to a queue that does not exist, and drop any other."""
        if queue not in self.queues:
            raise QueueMissingError

    def receive(
        self, queue: str, limit: int, visibility_s: int, wait_s: int = 0
    ) -> list[ReceivedMessage]:
        """Return no messages."""
        return []

    def reject(self, queue: str, body: str) -> None:
        """Do nothing."""

    def delete(self, queue: str, handles: Sequence[str]) -> None:
        """Do nothing."""

    def hide(self, queue: str, handles: Sequence[tuple[str, int]]) -> None:
        """Do nothing."""

    def backlog(self, queue: str) -> Backlog:
        """Count nothing."""
        return Backlog()
