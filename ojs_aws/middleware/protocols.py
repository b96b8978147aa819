"""Define what a middleware is for a type checker (specification, sections 3.3 and 4.3).

Nothing has to inherit from these: an object with such a method is such a middleware. To have a type
checker confirm it, assign one: ``_: ExecutionMiddleware = MyMiddleware()``. An object that serves
both chains has the methods ``enqueue`` and ``execute`` in place of ``call``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import EnqueueResult

EnqueueNext: TypeAlias = Callable[[Job], Awaitable[Job | None]]
"""Passes the job on; gives the stored job, or None when a middleware further in dropped it."""

BatchNext: TypeAlias = Callable[[Sequence[Job]], Awaitable[list[EnqueueResult]]]
"""Passes the jobs on to the chain of each; gives the outcome of each, in order."""

ExecutionNext: TypeAlias = Callable[[], Awaitable[object]]
"""Runs the rest of the chain and the handler; gives the result, and raises what they raise."""


class EnqueueMiddleware(Protocol):
    """Wraps the enqueueing of one job. One instance serves every job, several at a time.

    With the attribute ``never_waits = True`` it says that it waits for nothing but ``call_next``:
    PUSH then needs no event loop.
    """

    async def call(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on, drop it (None without ``call_next``), or raise and nothing is stored."""


class ExecutionMiddleware(Protocol):
    """Wraps the execution of one job. One instance serves every job, several at a time."""

    async def call(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Call ``call_next`` at most once, and return the result.

        An error of ``call_next`` is raised again, or named in ``ctx.mark_handled(error)``.
        """


class BatchMiddleware(Protocol):
    """Wraps the insertion of several jobs at once; a single job is a batch of one."""

    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
        """Call ``call_next`` once with the jobs that shall go on, and return the outcomes.

        Jobs may be changed, and left out (they count as dropped); none may be added.
        """


class EnqueueSide(Protocol):
    """Wraps enqueueing, in an object that serves both chains."""

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Enqueue as :meth:`EnqueueMiddleware.call` does."""


class ExecutionSide(Protocol):
    """Wraps execution, in an object that serves both chains."""

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute as :meth:`ExecutionMiddleware.call` does."""
