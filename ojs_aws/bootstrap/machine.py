"""Provides what the services need of the machine: time, identifiers, chance, and threads."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

import uuid_utils

from ojs_aws.domain.timestamps import Instant

A = TypeVar("A")
B = TypeVar("B")


class SystemClock:
    """Reads the machine's clock."""

    def __init__(self) -> None:
        """Start without a last stamp."""
        self._last = 0

    def now(self) -> Instant:
        """Return the current instant (milliseconds)."""
        return Instant(time.time_ns() // 1_000_000)

    def order(self) -> int:
        """Return strictly increasing microseconds."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return self._last


class UuidGenerator:
    """Makes UUIDv7 identifiers."""

    def job_id(self) -> str:
        """Return a new lowercase UUIDv7."""
        return str(uuid_utils.uuid7())

    def request_id(self) -> str:
        """Return a new request id."""
        return f"req_{uuid_utils.uuid7()}"


def write_token() -> str:
    """Return a token that identifies one write (8 hexadecimal digits)."""
    return secrets.token_hex(4)


def new_reservation_id() -> str:
    """Return an id that identifies one claim of a job (12 hexadecimal digits)."""
    return secrets.token_hex(6)


THREADS: Final = 8
"""Fewer than the connections that botocore keeps for a client."""


class InThreads:
    """Runs calls in parallel; the threads are made at the first use and kept.

    A call sees the context variables of its caller, so that its log lines have the request's id,
    and its calls of AWS the request's trace.
    """

    def __init__(self) -> None:
        """Start without threads."""
        self._made: ThreadPoolExecutor | None = None

    @property
    def _pool(self) -> ThreadPoolExecutor:
        if self._made is None:
            self._made = ThreadPoolExecutor(THREADS, thread_name_prefix="ojs")
        return self._made

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call the function for each item, in order as threads become free."""
        contexts = [copy_context() for _ in items]
        return self._pool.map(lambda context, item: context.run(call, item), contexts, items)

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call both functions and wait for both."""
        ahead = self._pool.submit(copy_context().run, first)
        try:
            right = second()
        finally:
            left = ahead.result()
        return left, right
