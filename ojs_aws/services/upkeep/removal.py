"""Removes with a stack what its template cannot: documents, files, and queues of first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from ojs_aws.domain.errors import BackendError


@dataclass(frozen=True, slots=True)
class Removed:
    """Counts what was removed.

    :ivar objects: versions of objects, and delete markers.
    :ivar queues: SQS queues.
    """

    objects: int = 0
    queues: int = 0


class Buckets(Protocol):
    """Empties the buckets of the deployment."""

    def goes_with_stack(self, bucket: str) -> bool:
        """Return True if the bucket itself says that its stack takes it along."""

    def empty(self, bucket: str) -> Iterable[int]:
        """Delete what is in it, step by step; each step is the number of what it deleted."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Removes what would hinder or outlive the deletion of a stack.

    CloudFormation asks for this not only when the stack goes. It also asks when the stack is
    changed to keep its data, and then nothing may be lost. The bucket decides: if its data is kept,
    the same change has removed its tag by then.

    :ivar delete_queues: deletes the queues of first use, step by step.
    """

    buckets: Buckets
    delete_queues: Callable[[], Iterable[int]]

    def __call__(self, bucket: str, has_time: Callable[[], bool], *, with_queues: bool) -> Removed:
        """Empty a bucket, and delete the queues if that is asked for. May be repeated.

        :param has_time: whether there is time for another step.
        :raises BackendError: something is left. A repetition goes on there.
        """
        if not self.buckets.goes_with_stack(bucket):
            return Removed()
        objects = _all(self.buckets.empty(bucket), has_time, "objects")
        queues = _all(self.delete_queues(), has_time, "queues") if with_queues else 0
        return Removed(objects, queues)


def _all(steps: Iterable[int], has_time: Callable[[], bool], what: str) -> int:
    done = 0
    for count in steps:
        done += count
        if not has_time():
            raise BackendError(
                f"There was time to delete {done} {what}, and there may be more.",
                hint="Delete the stack again: it goes on where it ended.",
            )
    return done
