"""Collects the jobs that a part of a test enqueues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, overload

from ojs_aws.testing.jobs import EnqueuedJob


class Captured(Sequence[EnqueuedJob[Any]]):
    """Holds the jobs that a block enqueued, in their order, as they are now."""

    def __init__(self, jobs: Callable[[], list[EnqueuedJob[Any]]]) -> None:
        """Begin; what is there already does not count."""
        self._jobs = jobs
        self._before = {job.id for job in jobs()}
        self._ids: list[str] | None = None

    def _end(self) -> None:
        """End the block: later jobs do not count."""
        self._ids = [job.id for job in self._found()]

    def _found(self) -> list[EnqueuedJob[Any]]:
        chosen = None if self._ids is None else set(self._ids)
        return [
            job
            for job in self._jobs()
            if (job.id not in self._before if chosen is None else job.id in chosen)
        ]

    @overload
    def __getitem__(self, index: int) -> EnqueuedJob[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[EnqueuedJob[Any]]: ...
    def __getitem__(self, index: int | slice) -> EnqueuedJob[Any] | list[EnqueuedJob[Any]]:
        """Return one of the jobs, or some."""
        return self._found()[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._found())

    def __repr__(self) -> str:
        """Show the jobs."""
        return f"<Captured {self._found()!r}>"


@contextmanager
def capturing(jobs: Callable[[], list[EnqueuedJob[Any]]]) -> Iterator[Captured]:
    """Collect the jobs that the block enqueues."""
    captured = Captured(jobs)
    try:
        yield captured
    finally:
        captured._end()  # noqa: SLF001 - of this module
