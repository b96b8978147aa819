"""Keeps the messages of SQS queues: delays, visibility, receipt handles and redrive."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

MAX_HIDDEN_MS: Final = 12 * 3600 * 1000
MAX_IN_FLIGHT: Final = 120_000
DEFAULT_RETENTION_S: Final = 345_600


@dataclass(slots=True)
class StoredMessage:
    """Holds one message.

    :ivar handle: the receipt handle of the latest receive; empty before the first one.
    :ivar visible_at: from when on it can be received (milliseconds).
    :ivar received_at: when it was received last.
    """

    id: str
    body: str
    attributes: dict[str, Any]
    sent_at: int
    visible_at: int
    received_at: int = 0
    receives: int = 0
    handle: str = ""


def oldest(found: list[StoredMessage], most: int) -> list[StoredMessage]:
    """Choose the messages that became visible first."""
    return found[:most]


@dataclass(slots=True)
class MemoryQueue:
    """Keeps one queue.

    :ivar pick: chooses among visible messages which ones a receive gets, at most so many of them;
        the oldest ones unless a test says otherwise.
    """

    name: str
    attributes: dict[str, str]
    now_ms: Callable[[], int]
    tags: dict[str, str] = field(default_factory=dict)
    pick: Callable[[list[StoredMessage], int], list[StoredMessage]] = oldest
    messages: dict[str, StoredMessage] = field(default_factory=dict)
    _visible: dict[str, StoredMessage] = field(default_factory=dict)
    _hidden: list[tuple[int, int, str]] = field(default_factory=list)
    _count: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def send(self, body: str, delay_ms: int, attributes: dict[str, Any]) -> StoredMessage:
        """Add a message that becomes visible after a delay."""
        now = self.now_ms()
        number = next(self._count)
        message = StoredMessage(f"{self.name}-{number}", body, attributes, now, now + delay_ms)
        self.messages[message.id] = message
        self._wait(message)
        return message

    def receive(self, most: int, visibility_ms: int) -> list[StoredMessage]:
        """Hide some visible messages, and return them with new receipt handles."""
        self._settle()
        now = self.now_ms()
        found = self.pick(list(itertools.islice(self._visible.values(), self._looks(most))), most)
        for message in found:
            message.receives += 1
            message.received_at = now
            message.handle = f"{message.id}#{message.receives}"
            self._hide(message, now + visibility_ms)
        return found

    def _looks(self, most: int) -> int | None:
        """Return how many messages a receive looks at; None for all."""
        return most if self.pick is oldest else None

    def held(self, handle: str) -> StoredMessage | None:
        """Return the message that is hidden under a receipt handle; None if it is not any more."""
        self._settle()
        message = self.messages.get(handle.rpartition("#")[0])
        if message is None or message.handle != handle or message.id in self._visible:
            return None
        return message

    def hide(self, message: StoredMessage, visibility_ms: int) -> None:
        """Let a message that was received become visible after another time."""
        self._hide(message, self.now_ms() + visibility_ms)

    def delete(self, handle: str) -> None:
        """Delete the message of a receipt handle, if it is the latest one."""
        message = self.messages.get(handle.rpartition("#")[0])
        if message is not None and message.handle == handle:
            self.remove(message)

    def remove(self, message: StoredMessage) -> None:
        """Remove a message."""
        self.messages.pop(message.id, None)
        self._visible.pop(message.id, None)

    def counts(self) -> tuple[int, int, int]:
        """Return how many messages are visible, hidden by a receive, and delayed."""
        self._settle()
        waiting = [m for m in self.messages.values() if m.id not in self._visible]
        delayed = sum(not message.receives for message in waiting)
        return len(self._visible), len(waiting) - delayed, delayed

    def purge(self) -> None:
        """Remove all messages."""
        self.messages.clear()
        self._visible.clear()
        self._hidden.clear()

    def _hide(self, message: StoredMessage, until: int) -> None:
        message.visible_at = until
        self._visible.pop(message.id, None)
        self._wait(message)

    def _wait(self, message: StoredMessage) -> None:
        if message.visible_at <= self.now_ms():
            self._visible[message.id] = message
        else:
            heapq.heappush(self._hidden, (message.visible_at, next(self._count), message.id))

    def _settle(self) -> None:
        """Show the messages whose time has come, and forget those that are too old."""
        now = self.now_ms()
        while self._hidden and self._hidden[0][0] <= now:
            at, _, message_id = heapq.heappop(self._hidden)
            message = self.messages.get(message_id)
            if message is not None and message.visible_at == at:
                self._visible[message.id] = message
        kept_s = int(self.attributes.get("MessageRetentionPeriod", DEFAULT_RETENTION_S))
        begin = now - kept_s * 1000
        for message in list(
            itertools.takewhile(lambda m: m.sent_at < begin, self.messages.values())
        ):
            self.remove(message)
