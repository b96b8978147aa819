"""Run jobs through the enqueue chain, one or many, around their storing (sections 3 and 7)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain import FRESH, Chain, Layers, Run, Step, run_coroutine
from ojs_aws.middleware.members import Layer
from ojs_aws.middleware.protocols import ENQUEUE, ENQUEUE_MANY
from ojs_aws.middleware.results import (
    STORED,
    BatchRejectedError,
    EnqueueResult,
    IdChangedError,
    InvalidMiddlewareError,
    NextNotCalledError,
    check_id,
    check_ids,
    dropped,
    failed,
    note_stored,
    set_stored,
)

Store = Callable[[Job], "Awaitable[Job | None] | Job | None"]


class EnqueueChain(Chain):
    """Runs middleware around enqueueing, in the order of their insertion (section 3).

    A middleware is called with the job and ``call_next``. It passes the job on by
    ``return await call_next(job)``, drops it by returning None, and aborts by raising. One that
    is synchronous, or has nothing to do afterwards, may simply return the job.

    A middleware with the method ``enqueue_many(jobs, call_next)`` is called around the whole
    insertion as well, outside of what is called for each job; see
    :mod:`ojs_aws.middleware.enqueuer`.
    """

    interfaces: ClassVar = (ENQUEUE, ENQUEUE_MANY)

    @classmethod
    def default(cls) -> EnqueueChain:
        """Return the recommended chain: logging (section 8.2)."""
        from ojs_aws.middleware.builtin.logging import LoggingMiddleware

        return cls([LoggingMiddleware()])

    async def run(self, job: Job, store: Store) -> Job | None:
        """Run the chain around ``store``.

        :returns: the stored job, or None when a middleware dropped it. Never a job that was not
            stored, whatever a middleware returns.
        :raises Exception: whatever a middleware raised; nothing was stored then, unless the error
            has the attribute ``stored_job_ids``.
        """
        stored, _ = await self.run_tracked(job, store)
        return stored

    async def run_tracked(self, job: Job, store: Store) -> tuple[Job | None, str]:
        """Do as :meth:`run`, and return the name of the middleware that dropped the job, too."""
        run = _EnqueueRun(self.start(ENQUEUE), job.id, store)
        stored: Job | None = await self.outermost(run)(job)
        run.check_ids(job if stored is None else stored)
        # A task that was left behind may store what was dropped before it came to that.
        return stored, "" if stored is not None else run.dropped_by

    def run_sync(self, job: Job, store: Callable[[Job], Job]) -> tuple[Job | None, str]:
        """Do as :meth:`run_tracked` from synchronous code; see :func:`run_coroutine`."""
        return run_coroutine(self.run_tracked(job, store), never_waits=self.never_waits)

    @property
    def never_waits(self) -> bool:
        """Return True if every middleware says ``never_waits = True``: it needs no event loop."""
        return all(getattr(member, "never_waits", False) for member in self)


class _EnqueueRun(Run):
    """Runs one job, and makes sure that its outcome is true."""

    returning_passes_on = True

    stored: Job | None = None
    stored_id = ""
    dropped_by = ""

    def __init__(self, layers: Layers, job_id: str, store: Store) -> None:
        self.layers = layers
        self.job_id = job_id
        self.store = store

    def accept(self, step: Step, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Refuse another id, and what is no job."""
        if len(given) != 1:
            raise TypeError(f"Middleware {step.caller!r} must pass on one job: call_next(job).")
        job = given[0]
        if type(job) is not Job or job.id != self.job_id:
            if not isinstance(job, Job):
                raise _no_job(step.caller, job)
            check_id(job, self.job_id, f"Middleware {step.caller!r}")
        return given

    async def innermost(self, job: Job) -> Job | None:
        """Store the job."""
        stored = self.store(job)
        self.stored = await stored if inspect.isawaitable(stored) else stored
        if self.stored is not None:
            self.stored_id = self.stored.id
        return self.stored

    def settle(self, layer: Layer, following: Step, result: Any) -> Job | None:
        """Return a job exactly when one was stored."""
        stored = self.stored
        if result is stored is not None:
            return stored
        if stored is None:
            if following.state == FRESH or following.error is not None:
                self.dropped_by = layer.name
            return None
        if result is None:
            warnings.warn(
                f"Middleware {layer.name!r} returned None after the job had been stored; it is not "
                "dropped. Return the job, or do not call call_next.",
                RuntimeWarning,
                stacklevel=2,
            )
            return stored
        if not isinstance(result, Job):
            raise _no_job(layer.name, result)
        if result.id != self.stored_id:
            raise IdChangedError(
                f"Middleware {layer.name!r} returned job {result.id!r} for the stored "
                f"{self.stored_id!r}."
            )
        return result

    def note_error(self, layer: Layer, _following: Step, problem: BaseException) -> None:
        """Name the stored job in an error that comes after the storing: somebody may cancel it."""
        if not isinstance(problem, Exception):
            return
        stored = (self.job_id,) if self.stored is not None else None
        if getattr(problem, STORED, None) == stored:
            return
        set_stored(problem, stored)
        if stored:
            problem.add_note(
                f"Middleware {layer.name!r} raised this after job {self.job_id} had been stored."
            )

    def check_ids(self, job: Job) -> None:
        """Refuse another id that the job got in place, on the way back or when it was dropped."""
        if self.stored is not None:
            check_id(self.stored, self.stored_id, "A middleware", [self.stored_id])
        else:
            check_id(job, self.job_id, f"Middleware {self.dropped_by!r}")


def _no_job(name: str, given: object) -> InvalidMiddlewareError:
    return InvalidMiddlewareError(
        f"Middleware {name!r} gave a {type(given).__name__} where a Job belongs. Pass on "
        "and return a job, or return None to drop it."
    )


StoreMany: TypeAlias = Callable[[list[Job]], Awaitable[list[EnqueueResult]]]


class InsertionRun(Run):
    """Runs one insertion through the middleware with ``enqueue_many``.

    :ivar given: the jobs that each layer was given, and last those that are stored.
    """

    def __init__(self, layers: Layers, store: StoreMany, *, is_atomic: bool) -> None:
        """Prepare a run; an atomic one refuses the batch when a middleware leaves a job out."""
        self.layers = layers
        self.given: list[list[Job]] = []
        self._store = store
        self._is_atomic = is_atomic
        self._stored_ids: list[str] = []
        self._results: list[EnqueueResult] = []
        self._ids: list[tuple[Job, str]] = []

    def accept(self, step: Step, given: tuple[Any, ...]) -> tuple[list[Job]]:
        """Refuse jobs that the middleware was not given, and other ids."""
        if len(given) != 1:
            raise TypeError(f"Middleware {step.caller!r} must pass on one list: call_next(jobs).")
        jobs: list[Job] = [*given[0]]
        if step.position:
            self._check_passed(jobs, self.given[step.position - 1], step.caller)
        self.given.append(jobs)
        self._ids += [(job, job.id) for job in jobs]
        return ([*jobs],)

    async def innermost(self, jobs: list[Job]) -> list[EnqueueResult]:
        """Store the jobs."""
        results = await self._store(jobs) if jobs else []
        self._stored_ids += [
            result.id for result in results if result.is_enqueued and not result.is_duplicate
        ]
        return self._note_outcomes(results)

    def settle(self, layer: Layer, following: Step, result: Any) -> list[EnqueueResult]:
        """Return one outcome for each job that the layer was given."""
        self._check_ids(layer.name)
        if following.state == FRESH:
            raise NextNotCalledError(
                f"Middleware {layer.name!r} returned from enqueue_many without having called "
                "call_next: nothing was enqueued. To drop jobs, pass a shorter list on."
            )
        if following.error is not None:
            self._results = [failed(job, following.error) for job in self.given[following.position]]
        jobs = self.given[following.position - 1]
        return self._note_outcomes(_aligned(jobs, self._results, result, layer.name))

    def note_error(self, _layer: Layer, _following: Step, problem: BaseException) -> None:
        """Name the stored jobs in an error that comes after the storing."""
        if isinstance(problem, Exception):
            note_stored(problem, self._stored_ids)

    def _check_passed(self, jobs: list[Job], given: list[Job], name: str) -> None:
        self._check_ids(name)
        passed = {job.id for job in jobs}
        if len(passed) < len(jobs) or not passed <= {job.id for job in given}:
            raise IdChangedError(
                f"Middleware {name!r} passed on a job that it was not given, or one twice; "
                "enqueue_many may change jobs and leave some out, and ids must stay."
            )
        if self._is_atomic and len(jobs) < len(given):
            problem = BatchRejectedError("The middleware did not let every job of the batch pass.")
            problem.results = [
                failed(job, problem, is_new=False) if job.id in passed else dropped(job, name)
                for job in given
            ]
            raise problem

    def _check_ids(self, name: str) -> None:
        """Refuse an id that a job got in place, even one of the other jobs'."""
        check_ids(self._ids, f"Middleware {name!r}")

    def _note_outcomes(self, results: list[EnqueueResult]) -> list[EnqueueResult]:
        """Remember the outcomes of a layer; return a list that the next one may change."""
        self._results = results
        self._ids += [(result.job, result.id) for result in results]
        return [*results]


def _aligned(
    jobs: Sequence[Job], passed: Sequence[EnqueueResult], returned: object, name: str
) -> list[EnqueueResult]:
    """Return one outcome for each job: as returned, else as passed, else dropped."""
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
