"""Run many jobs through the chain, each by itself, and store them by one atomic batch.

The chain of each job runs until it asks for the job to be stored, one job after the other. When
all have come that far, or have ended without, the jobs that got there are stored together; then
every chain goes on after its ``call_next``, with the stored job or with the batch's error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import EnqueueRejectedError, OjsError
from ojs_aws.middleware.results import (
    BatchRejectedError,
    EnqueueResult,
    Stored,
    failed,
    note_stored,
)

StoreOne: TypeAlias = Callable[[Job], Awaitable[Stored]]
EnqueueOne: TypeAlias = Callable[[Job, StoreOne], Awaitable[EnqueueResult]]
StoreAll: TypeAlias = Callable[[Sequence[Job]], Awaitable[list[Stored]]]


@dataclass(slots=True)
class _Member:
    """Follows one job of the batch through its chain, which waits until the batch is stored."""

    job: Job
    reached: asyncio.Future[Job]
    stored: asyncio.Future[Stored]
    run: asyncio.Task[EnqueueResult] | None = None
    is_stored: bool = False

    async def store(self, final: Job) -> Stored:
        """Note that the job has come through its chain, and wait until the batch is stored."""
        self.reached.set_result(final)
        return await self.stored

    @property
    def is_waiting(self) -> bool:
        return self.reached.done() and not self.stored.done()

    @property
    def failure(self) -> BaseException | None:
        """Return the error that ended the job's run; None if there is none."""
        if self.run is None or not self.run.done() or self.run.cancelled():
            return None
        return self.run.exception()

    def outcome(self) -> EnqueueResult:
        """Return what became of the job, once its run has ended."""
        if self.run is None or self.run.cancelled():
            return self._failed(asyncio.CancelledError())
        problem = self.run.exception()
        return self.run.result() if problem is None else self._failed(problem)

    def _failed(self, problem: BaseException) -> EnqueueResult:
        job = self.reached.result() if self.reached.done() else self.job
        if self.is_stored:
            _note_stored(problem, (job.id,))
        return failed(job, problem)


@dataclass(slots=True)
class Batch:
    """Runs one batch. Used once.

    :ivar enqueue_one: runs the chain for one job around a function that stores it.
    :ivar store_all: stores jobs, all or none.
    :ivar is_atomic: whether a job that does not come through stops all the others, with a
        BatchRejectedError.
    :ivar stops_at_failure: whether the first job that fails stops all the others, with its error.
    """

    enqueue_one: EnqueueOne
    store_all: StoreAll
    is_atomic: bool = False
    stops_at_failure: bool = False
    _members: list[_Member] = field(default_factory=list)

    async def run(self, jobs: Sequence[Job]) -> list[EnqueueResult]:
        """Enqueue the jobs, and return the outcomes in the same order.

        :raises BatchRejectedError: atomic, and not every job came through.
        :raises Exception: stopping at a failure, that failure.
        :raises OjsError: the backend refused the batch; nothing was stored.
        """
        try:
            for job in jobs:
                member = await self._bring(job)
                if self.stops_at_failure and (problem := member.failure):
                    await self._abort([m for m in self._members if m.is_waiting], problem)
                    raise problem
            await self._store()
            await asyncio.gather(*self._runs(), return_exceptions=True)
            if self.stops_at_failure:
                self._raise_late()
        finally:
            for run in self._runs():
                run.cancel()
        return [member.outcome() for member in self._members]

    def _runs(self) -> list[asyncio.Task[EnqueueResult]]:
        return [member.run for member in self._members if member.run is not None]

    async def _bring(self, job: Job) -> _Member:
        """Run one job's chain until it ends or waits for the storing."""
        loop = asyncio.get_running_loop()
        member = _Member(job, loop.create_future(), loop.create_future())
        self._members.append(member)
        member.run = asyncio.ensure_future(self.enqueue_one(job, member.store))
        either: set[asyncio.Future[Any]] = {member.run, member.reached}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return member

    async def _store(self) -> None:
        through = [member for member in self._members if member.is_waiting]
        try:
            outcomes = await self._stored(through)
        except BaseException as problem:
            await self._abort(through, problem)
            raise
        for member, stored in zip(through, outcomes, strict=True):
            member.is_stored = stored.job is not None
            if not member.stored.done():  # a middleware may have stopped waiting
                member.stored.set_result(stored)

    def _raise_late(self) -> None:
        """Raise the first error that came after the storing; it names all that is stored."""
        stored = tuple(member.job.id for member in self._members if member.is_stored)
        for member in self._members:
            if (problem := member.failure) is not None:
                _note_stored(problem, stored)
                raise problem

    async def _stored(self, through: Sequence[_Member]) -> list[Stored]:
        if self.is_atomic and len(through) < len(self._members):
            raise BatchRejectedError("The middleware did not let every job of the batch pass.")
        if not through:
            return []
        try:
            return await self.store_all([member.reached.result() for member in through])
        except OjsError as problem:
            position = problem.details.get("index")
            if isinstance(position, int) and 0 <= position < len(through):
                problem.details["index"] = self._members.index(through[position])
            raise

    async def _abort(self, through: Sequence[_Member], problem: BaseException) -> None:
        """Raise the problem in every chain that waits: nothing was stored."""
        for member in through:
            if member.stored.done():
                continue
            if isinstance(problem, Exception):
                member.stored.set_exception(problem)
            else:
                member.stored.cancel()
        await asyncio.gather(*self._runs(), return_exceptions=True)
        if isinstance(problem, BatchRejectedError):
            problem.results = [member.outcome() for member in self._members]
            errors = [result.error for result in problem.results]
            cause = next((e for e in errors if e is not None and e is not problem), None)
            problem.__cause__ = cause


def _note_stored(problem: BaseException, job_ids: tuple[str, ...]) -> None:
    """Name the stored jobs in an error that comes after their storing: somebody may cancel them."""
    if isinstance(problem, EnqueueRejectedError):
        problem.details["stored_job_ids"] = [*job_ids]
    note_stored(problem, job_ids)
