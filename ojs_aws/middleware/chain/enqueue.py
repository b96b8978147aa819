"""Run jobs through the enqueue chain, around their storing (specification, sections 3 and 7)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, ClassVar

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain.base import Chain, run_coroutine
from ojs_aws.middleware.chain.run import FRESH, Layers, Run, Step
from ojs_aws.middleware.errors import IdChangedError, InvalidMiddlewareError
from ojs_aws.middleware.interfaces import ENQUEUE, ENQUEUE_MANY
from ojs_aws.middleware.job_identity import check_id
from ojs_aws.middleware.members import Layer

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

    def note_error(self, layer: Layer, following: Step, problem: BaseException) -> None:  # noqa: ARG002
        """Name the stored job in an error that comes after the storing: somebody may cancel it."""
        if not isinstance(problem, Exception):
            return
        stored = (self.job_id,) if self.stored is not None else None
        if getattr(problem, "stored_job_ids", None) == stored:
            return
        with suppress(AttributeError, TypeError):  # a class with __slots__ has no room for it
            problem.stored_job_ids = stored  # type: ignore[attr-defined]
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
