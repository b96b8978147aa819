"""Replaces functions of moto by faster ones, and wakes loops when moto has something."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Final, TypeAlias

Original: TypeAlias = Any
Patch: TypeAlias = tuple[Any, str, Callable[[Original], Any]]
"""A class or module, the name of its attribute, and what makes another one of the original."""


class Signal:
    """Counts events, and lets a thread wait until there is one that it has not seen."""

    def __init__(self) -> None:
        """Start with no events."""
        self._changed = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        """Return how many events there have been."""
        return self._count

    def notify(self) -> None:
        """Count an event, and wake who waits."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> None:
        """Return when there are other events than those seen, at the latest after the timeout.

        Whoever reads the count before looking, and waits after it, misses nothing.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)


RECORDS: Final = Signal()
"""A table's stream in this process has a new record."""
MESSAGES: Final = Signal()
"""A queue in this process has a new message, or hides one of its messages until another time."""


@contextmanager
def patched(*patches: Patch) -> Iterator[None]:
    """Replace attributes for the time of a block; one that was inherited is so again."""
    own = [(owner, name, vars(owner).get(name)) for owner, name, _ in patches]
    for owner, name, patch in patches:
        setattr(owner, name, patch(getattr(owner, name, None)))
    try:
        yield
    finally:
        for owner, name, original in own:
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


def fast_queues() -> AbstractContextManager[None]:
    """Patch moto's SQS queues: messages are counted with one look at the clock, and wake triggers.

    Moto counts all messages of a queue, asking for the time with each of them, whenever it sends or
    receives one. With a thousand delayed messages a receive took half a second. And it converts the
    names of all attributes of a queue, letter by letter, with each message.
    """
    from moto.core.utils import unix_time_millis  # an extra
    from moto.sqs import models
    from moto.sqs.models import Message, Queue

    def messages(self: Any) -> list[Any]:
        now = unix_time_millis()
        return [
            message
            for message in self._messages
            if message.visible_at < now and message.delayed_until <= now
        ]

    def delayed(self: Any) -> int:
        now = unix_time_millis()
        return sum(1 for message in self._messages if now < message.delayed_until)

    def not_visible(self: Any) -> int:
        now = unix_time_millis()
        return sum(1 for message in self._messages if now <= message.visible_at)

    return patched(
        (Queue, "messages", lambda _: property(messages)),
        (Queue, "approximate_number_of_messages_delayed", lambda _: property(delayed)),
        (Queue, "approximate_number_of_messages_not_visible", lambda _: property(not_visible)),
        (models, "camelcase_to_underscores", cache),
        (Queue, "add_message", _announced),
        (Message, "change_visibility", _announced),
    )


def fast_clients() -> AbstractContextManager[None]:
    """Patch botocore: all sessions share one loader, which reads each service's model once.

    Each function of the server has a session of its own, as on AWS, and each would read the models
    of DynamoDB and SQS from their files: a fifth of what the server takes to start.
    """
    import botocore.session  # loaded by then

    return patched((botocore.session, "create_loader", cache))


def _announced(original: Original) -> Original:
    """Return a method that wakes who waits for messages, after it has done its work."""

    def announced(self: Any, *args: Any, **more: Any) -> None:
        original(self, *args, **more)
        MESSAGES.notify()

    return announced
