"""Holds what the steps of a large batch share: calls for each job, and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ojs_aws.domain.job import JobRecord

A = TypeVar("A")
B = TypeVar("B")


class ForEach(Protocol):
    """Calls a function for each item, possibly several at a time, and waits for all."""

    def __call__(self, call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
        """Return the answers, in the order of the items."""


def in_order(call: Callable[[A], B], items: Sequence[A]) -> Iterable[B]:
    """Call the function for one item after the other: the simplest :class:`ForEach`."""
    return [call(item) for item in items]


@dataclass(frozen=True, slots=True)
class StoredJob:
    """Holds a job of a committed batch that is in its place.

    :ivar record: the job that there is; None when it was put there before, and is gone.
    :ivar is_update: another job has its arguments and metadata now.
    :ivar replaced: the job that was cancelled for it, as it was before.
    """

    record: JobRecord | None
    is_update: bool = False
    replaced: JobRecord | None = None


@dataclass(frozen=True, slots=True)
class RollForwardReport:
    """Counts batches whose processes seemed to have died.

    :ivar done: those whose jobs are all in their places now.
    :ivar failed: those that met an error; the next tick repeats it.
    :ivar lost: those that were given up, because something of their log is gone.
    """

    done: int = 0
    failed: int = 0
    lost: int = 0
