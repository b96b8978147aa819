"""EnqueueChain: linear, around the storing of a job (middleware specification, 3 and 7)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from types import CoroutineType
from typing import Any, ClassVar

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain import Chain
from ojs_aws.middleware.driving import drive
from ojs_aws.middleware.errors import IdChangedError, InvalidMiddlewareError
from ojs_aws.middleware.interfaces import ENQUEUE, ENQUEUE_MANY
from ojs_aws.middleware.job_identity import check_id
from ojs_aws.middleware.members import STARTED, Layer
from ojs_aws.middleware.passages import (
    CALLED,
    ENDED,
    FAILED,
    FRESH,
    Passages,
    Step,
    called_twice,
    not_awaited,
    steps_through,
)

Store = Callable[[Job], "Awaitable[Job | None] | Job | None"]


class EnqueueChain(Chain):
    """Middleware around enqueueing, in insertion order (section 3).

    A middleware is called with the job and ``call_next``. It passes the job on by
    ``return await call_next(job)``, drops it by returning None, and aborts by raising. One that
    is synchronous, or has nothing to do afterwards, may simply return the job.

    A middleware with the method ``enqueue_many(jobs, call_next)`` is called around the whole
    insertion as well, outside of what is called for each job; see
    :mod:`ojs_aws.middleware.enqueuing`.
    """

    interfaces: ClassVar = (ENQUEUE, ENQUEUE_MANY)

    _passages: Passages[_Passage] | None = None

    @classmethod
    def default(cls) -> EnqueueChain:
        """The recommended chain: logging (section 8.2)."""
        from ojs_aws.middleware.logging import LoggingMiddleware  # noqa: PLC0415

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
        """Like :meth:`run`, and the name of the middleware that dropped the job, if one did."""
        if self._stopwatch is None:
            if self._members:
                return await self._run(job, store)
            self.freeze(STARTED)
            stored = store(job)
            return (await stored if inspect.isawaitable(stored) else stored), ""
        return await self._stopwatch.measure(job, self._run(job, store))

    def run_sync(self, job: Job, store: Callable[[Job], Job]) -> tuple[Job | None, str]:
        """Like :meth:`run_tracked` from synchronous code; see :func:`drive`."""
        return drive(self.run_tracked(job, store), never_waits=self.never_waits)

    @property
    def never_waits(self) -> bool:
        """Whether every middleware says ``never_waits = True``: it needs no event loop."""
        return all(getattr(member, "never_waits", False) for member in self)

    async def _run(self, job: Job, store: Store) -> tuple[Job | None, str]:
        passages = self._passages or self._start()
        passage = passages.take()
        passage.start(job.id, store)
        try:
            stored = await passage.first(job)
            passage.check_stored()
            if stored is None:  # the outcome names the job that was dropped
                check_id(job, passage.job_id, f"Middleware {passage.dropped_by!r}")
            # A task that was left behind may store what was dropped before it came to that.
            return stored, "" if stored is not None else passage.dropped_by
        finally:
            passages.give_back(passage)

    def _start(self) -> Passages[_Passage]:
        layers = self.start(ENQUEUE)
        self._passages = Passages(lambda: _Passage(layers))
        return self._passages


class _Passage:
    """One job at a time on its way through the chain."""

    __slots__ = (
        "dropped_by",
        "first",
        "is_torn",
        "job_id",
        "steps",
        "store",
        "stored",
        "stored_id",
    )

    store: Store

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        self.steps = steps_through(self, layers, _Step)
        self.first = self.steps[-1]
        self.is_torn = False
        self.stored: Job | None = None
        self.dropped_by = self.job_id = self.stored_id = ""

    def start(self, job_id: str, store: Store) -> None:
        self.job_id = job_id
        self.store = store

    def clear(self) -> None:
        del self.store
        self.stored = None
        self.dropped_by = self.job_id = self.stored_id = ""
        for step in self.steps:
            step.state = FRESH

    def check(self, job: Job, name: str) -> None:
        """Refuse another id."""
        if getattr(job, "id", None) != self.job_id:
            if not isinstance(job, Job):
                raise _no_job(name, job)
            check_id(job, self.job_id, f"Middleware {name!r}")

    async def keep(self, job: Job) -> Job | None:
        """Store the job, behind the last layer."""
        stored = self.store(job)
        self.stored = await stored if inspect.isawaitable(stored) else stored
        if self.stored is not None:
            self.stored_id = self.stored.id
        return self.stored

    def settled(self, result: object, state: int, name: str) -> Job | None:
        """What a layer gives that returned ``result``: a job exactly when one was stored.

        :param state: of what is behind its ``call_next``.
        """
        if state == CALLED:
            raise not_awaited(name)
        stored = self.stored
        if stored is None:
            if state != ENDED:  # it did not go on, or caught what call_next raised
                self.dropped_by = name
            return None
        if result is None:
            warnings.warn(
                f"Middleware {name!r} returned None after the job had been stored; it is not "
                "dropped. Return the job, or do not call call_next.",
                RuntimeWarning,
                stacklevel=2,
            )
            return stored
        if result is stored:
            return stored
        if not isinstance(result, Job):
            raise _no_job(name, result)
        if result.id != self.stored_id:
            raise IdChangedError(
                f"Middleware {name!r} returned job {result.id!r} for the stored {self.stored_id!r}."
            )
        return result

    def check_stored(self) -> None:
        """Refuse another id that the stored job got in place, on the way back."""
        if self.stored is not None and self.stored.id != self.stored_id:
            check_id(self.stored, self.stored_id, "A middleware", [self.stored_id])

    def tell_stored(self, problem: Exception, name: str) -> None:
        """An error that comes after the job was stored says so: the caller may cancel it."""
        told: object = getattr(problem, "stored_job_ids", None)
        stored = (self.job_id,) if self.stored is not None else None
        if told == stored:
            return
        with suppress(AttributeError, TypeError):  # a class with __slots__ has no room for it
            problem.stored_job_ids = stored  # type: ignore[attr-defined]
        if stored:
            problem.add_note(
                f"Middleware {name!r} raised this after job {self.job_id} had been stored."
            )


class _Step(Step[_Passage]):
    """``call_next``: runs a layer, or the storing behind the last one."""

    __slots__ = ()

    def __call__(self, job: Job) -> Coroutine[Any, Any, Job | None]:
        if self.state != FRESH:
            raise called_twice(self.caller)
        self.passage.check(job, self.caller)
        self.state = CALLED
        self.unstarted = going = self._go(job)
        return going

    async def _go(self, job: Job) -> Job | None:
        self.unstarted = None
        if self.state != CALLED:
            raise called_twice(self.caller)
        passage, layer, following = self.passage, self.layer, self.following
        result: Job | None = None
        try:
            if layer is None or following is None:
                result = await passage.keep(job)
            else:
                result = layer.call(job, following)
                if type(result) is CoroutineType or (
                    type(result) is not Job and inspect.isawaitable(result)
                ):
                    result = await result
                state = following.state
                if state == FRESH and result is not None:  # to return the job is to pass it on
                    result = await following(result)
                elif state != ENDED or result is None or result is not passage.stored:
                    result = passage.settled(result, state, layer.name)
        except BaseException as problem:
            self.state = FAILED
            if layer is not None and isinstance(problem, Exception):
                passage.tell_stored(problem, layer.name)
            raise
        finally:
            if following is not None:
                if following.state == CALLED:
                    passage.is_torn = True
                    following.drop_unstarted(result)
                following.state = following.state if following.state == FAILED else ENDED
        self.state = ENDED
        return result


def _no_job(name: str, given: object) -> InvalidMiddlewareError:
    return InvalidMiddlewareError(
        f"Middleware {name!r} gave a {type(given).__name__} where a Job belongs. Pass on "
        "and return a job, or return None to drop it."
    )
