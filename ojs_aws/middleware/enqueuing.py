"""Everything around the storing of jobs: batch middleware, each job's chain, and the hooks.

From the outside in: the ``enqueue_many`` of the chain's middleware, around the whole insertion (a
single job is a batch of one); the chain of each job; the hooks ``insert_begin`` and
``insert_end``; and the storing itself. Client and backend enqueue through the same object.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.driving import drive
from ojs_aws.middleware.enqueue_chain import EnqueueChain, Store
from ojs_aws.middleware.errors import BatchRejectedError, IdChangedError, NextNotCalledError
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.middleware.interfaces import ENQUEUE_MANY
from ojs_aws.middleware.job_identity import check_ids
from ojs_aws.middleware.members import STARTED, Layer
from ojs_aws.middleware.passages import called_twice, drop_unstarted, not_awaited
from ojs_aws.middleware.results import EnqueueResult, EnqueueStatus, dropped

T = TypeVar("T")

StoreMany: TypeAlias = Callable[[list[Job]], Awaitable[list[EnqueueResult]]]


class Enqueuing:
    """A chain and hooks, around whatever stores jobs."""

    def __init__(self, chain: EnqueueChain, hooks: Hooks | None = None) -> None:
        """Put these around; both freeze with the first job."""
        self.chain = chain
        self.hooks = hooks or Hooks()
        self._layers: tuple[Layer, ...] | None = None

    async def one(self, job: Job, store: Store) -> tuple[Job | None, str]:
        """Run the chain of one job around ``store``, which the hooks enclose.

        :returns: the stored job, or None and the name of the middleware that dropped it.
        :raises Exception: whatever a middleware or a hook raised; nothing was stored then, unless
            the error has the attribute ``stored_job_ids``.
        """
        if self.hooks.has_insertion():
            return await self.chain.run_tracked(job, _Hooked(self.hooks, store))
        return await self.chain.run_tracked(job, store)

    async def many(
        self, jobs: Sequence[Job], inner: StoreMany, *, is_atomic: bool = False
    ) -> list[EnqueueResult]:
        """Run the batch middleware around ``inner``.

        :param inner: takes the jobs that the batch middleware let pass, and gives the outcome of
            each.
        :param is_atomic: refuse the whole batch when a batch middleware leaves a job out.
        :returns: one outcome for each job, in the order of ``jobs``.
        :raises BatchRejectedError: atomic, and a batch middleware left a job out.
        :raises NextNotCalledError: a middleware returned without having called ``call_next``.
        :raises Exception: whatever a middleware raised. If jobs had been stored before, the error
            names them in the attribute ``stored_job_ids``.
        """
        layers = self._start() if self._layers is None else self._layers
        if not layers:
            return await inner([*jobs])
        return await _Batch(layers, inner, is_atomic=is_atomic).go(0, [*jobs])

    def _start(self) -> tuple[Layer, ...]:
        self.chain.freeze(STARTED)
        self.hooks.freeze(STARTED)
        self.hooks.listen_to(self.chain)
        self._layers = self.chain.layers(ENQUEUE_MANY)
        return self._layers

    def drive(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run what uses this object to its end, from synchronous code; see :func:`drive`."""
        return drive(coroutine, never_waits=self.chain.never_waits and self.hooks.never_waits)


class _Hooked:
    """The storing of one job with its hooks."""

    __slots__ = ("_hooks", "_store")

    def __init__(self, hooks: Hooks, store: Store) -> None:
        self._hooks = hooks
        self._store = store

    async def __call__(self, job: Job) -> Job | None:
        job_id = job.id
        job = await self._hooks.insert_begin(job)
        try:
            stored = self._store(job)
            if inspect.isawaitable(stored):
                stored = await stored
        except Exception as problem:
            await self._hooks.insert_end(job, problem)
            raise
        if stored is None:
            return None
        try:
            await self._hooks.insert_end(stored, None)
        except Exception as problem:
            tell_stored(problem, [job_id])
            raise
        return stored


class _Batch:
    """One insertion on its way through the batch middleware."""

    def __init__(self, layers: tuple[Layer, ...], inner: StoreMany, *, is_atomic: bool) -> None:
        self.is_atomic = is_atomic
        self._layers = layers
        self._inner = inner
        self._stored: list[str] = []

    async def go(self, position: int, jobs: list[Job]) -> list[EnqueueResult]:
        """Pass jobs to the middleware at a position, or on to their own chains."""
        if position == len(self._layers):
            results = await self._inner(jobs) if jobs else []
            self._stored += [
                result.id for result in results if result.is_enqueued and not result.is_duplicate
            ]
            return results
        layer = self._layers[position]
        step = _BatchStep(self, position, layer.name, [*jobs])
        returned: object = None
        try:
            returned = layer.call(jobs, step)
            if inspect.isawaitable(returned):
                returned = await returned
            step.check_ids()
        except Exception as problem:
            tell_stored(problem, self._stored)
            raise
        finally:
            step.is_over = True
            unstarted, step.unstarted = step.unstarted, None
            drop_unstarted(unstarted, returned)
        if not step.is_called:
            raise NextNotCalledError(
                f"Middleware {layer.name!r} returned from enqueue_many without having called "
                "call_next: nothing was enqueued. To drop jobs, pass a shorter list on."
            )
        if step.results is None:
            raise not_awaited(layer.name)
        return _aligned(step.given, step.results, returned, layer.name)


class _BatchStep:
    """``call_next`` of one batch middleware."""

    def __init__(self, batch: _Batch, position: int, name: str, jobs: Sequence[Job]) -> None:
        self._batch = batch
        self._position = position
        self._name = name
        self.given = jobs
        self._ids = [job.id for job in jobs]
        self.is_called = self.is_over = False
        self.results: list[EnqueueResult] | None = None
        self.unstarted: Coroutine[Any, Any, list[EnqueueResult]] | None = None
        self._result_ids: list[str] = []

    def check_ids(self) -> None:
        """Refuse an id that a job got in place, even one of the other jobs'."""
        results = zip(self.results or (), self._result_ids, strict=True)
        jobs = [
            *zip(self.given, self._ids, strict=True),
            *((result.job, job_id) for result, job_id in results),
        ]
        check_ids(jobs, f"Middleware {self._name!r}")

    def __call__(self, jobs: Sequence[Job]) -> Coroutine[Any, Any, list[EnqueueResult]]:
        if self.is_called or self.is_over:
            raise called_twice(self._name)
        self.check_ids()
        passed = [job.id for job in jobs]
        if len({*passed}) < len(passed) or not {*passed} <= {*self._ids}:
            raise IdChangedError(
                f"Middleware {self._name!r} passed on a job that it was not given, or one twice; "
                "enqueue_many may change jobs and leave some out, and ids must stay."
            )
        if self._batch.is_atomic and len(passed) < len(self._ids):
            raise self._rejected(passed)
        self.is_called = True
        self.unstarted = going = self._go([*jobs])
        return going

    def _rejected(self, passed: Sequence[str]) -> BatchRejectedError:
        problem = BatchRejectedError("The middleware did not let every job of the batch pass.")
        failed = EnqueueStatus.FAILED
        problem.results = [
            EnqueueResult(status=failed, job=job, is_new=False, error=problem)
            if job.id in passed
            else dropped(job, self._name)
            for job in self.given
        ]
        return problem

    async def _go(self, jobs: list[Job]) -> list[EnqueueResult]:
        self.unstarted = None
        try:
            self.results = await self._batch.go(self._position + 1, jobs)
        except Exception as problem:
            failed = EnqueueStatus.FAILED
            self.results = [EnqueueResult(status=failed, job=job, error=problem) for job in jobs]
            raise
        finally:
            self._result_ids = [result.id for result in self.results or ()]
        return [*self.results]


def _aligned(
    jobs: Sequence[Job], passed: Sequence[EnqueueResult], returned: object, name: str
) -> list[EnqueueResult]:
    """One outcome for each job: as returned, else as it was; dropped if it was not passed on."""
    if not isinstance(returned, list):
        warnings.warn(
            f"Middleware {name!r} did not return the list of outcomes from enqueue_many; they stay "
            "as call_next gave them.",
            RuntimeWarning,
            stacklevel=2,
        )
        returned = []
    outcomes = {result.asked_id or result.id: result for result in passed}
    for result in returned:
        if isinstance(result, EnqueueResult) and (result.asked_id or result.id) in outcomes:
            outcomes[result.asked_id or result.id] = result
    return [outcomes[job.id] if job.id in outcomes else dropped(job, name) for job in jobs]


def tell_stored(problem: BaseException, job_ids: Sequence[str]) -> None:
    """An error that comes after jobs were stored says so: the caller may cancel them."""
    if job_ids:
        with suppress(AttributeError, TypeError):  # a class with __slots__ has no room for it
            problem.stored_job_ids = tuple(job_ids)  # type: ignore[attr-defined]
