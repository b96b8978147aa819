"""Declares what the composition root decides for a request: clock, ids, and calls side by side.

What the parts of one request share is a context variable, so that calls in threads belong to the
request that they are made for. Outside of a request (the stream, the tick, workers) there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from ojs_aws.domain.timestamps import Instant


class Clock(Protocol):
    """Provides the time."""

    def now(self) -> Instant:
        """Return the current instant (milliseconds)."""

    def order(self) -> int:
        """Return microseconds since the epoch, strictly increasing within the process.

        Jobs of one priority are fetched in this order, so that two jobs enqueued within one
        millisecond keep theirs.
        """


class IdGenerator(Protocol):
    """Makes identifiers."""

    def job_id(self) -> str:
        """Return a new lowercase UUIDv7."""

    def request_id(self) -> str:
        """Return a new request id, ``req_`` and a UUIDv7."""


A = TypeVar("A")
B = TypeVar("B")


class Parallel(Protocol):
    """Runs calls, side by side if it can, and waits for all of them."""

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call both functions; the first error is raised after both have ended."""

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call a function for each item; return the answers in the order of the items."""


class InOrder:
    """Runs one call after the other: the simplest :class:`Parallel`."""

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Call the first function, then the second."""
        return first(), second()

    def each(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Call the function for one item after the other."""
        return [call(item) for item in items]


IN_ORDER: Final = InOrder()


def in_groups(
    items: Iterable[A], size_of: Callable[[A], int], max_size: int, max_count: int = 0
) -> Iterator[list[A]]:
    """Yield the items in order, in groups of at most a size; a larger item is a group alone.

    :param max_count: most items of a group; 0 for any number.
    """
    group: list[A] = []
    size = 0
    for item in items:
        length = size_of(item)
        if group and (len(group) == max_count or size + length > max_size):
            yield group
            group, size = [], 0
        group.append(item)
        size += length
    if group:
        yield group


SCHEMA_S: Final = 1.0
"""Processor time that the checks of arguments by schemas may take in one request."""


@dataclass(slots=True)
class SchemaChecks:
    """Describes the checks of arguments in one request.

    :ivar left_s: processor time that they may still take, in seconds.
    :ivar passed: what was checked of each job, by its id: the same is not checked twice.
    """

    left_s: float = SCHEMA_S
    passed: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class RequestScope:
    """Describes one request.

    :ivar left_s: returns how many seconds the request has left.
    :ivar may_have_written: whether a call of it changed what others see, or may have. Such a
        request must not be answered as one that can be sent again.
    :ivar schema_checks: the checks of arguments by schemas.
    """

    left_s: Callable[[], float]
    may_have_written: bool = False
    schema_checks: SchemaChecks = field(default_factory=SchemaChecks)


current_request: Final[ContextVar[RequestScope | None]] = ContextVar("request", default=None)
