"""Enforcing the execution timeout around the handler (middleware specification, section 8.1.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.errors import JobTimeoutError

DEFAULT_TIMEOUT_S = 1800.0


class TimeoutMiddleware:
    """Ends an execution that takes longer than the job's timeout; belongs innermost.

    An asynchronous handler is cancelled. A synchronous one runs in a thread, which the worker
    interrupts at its next Python instruction. What either still returns or raises after that counts
    for nothing.
    """

    def __init__(self, default_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Use ``default_s`` seconds for jobs that name no timeout."""
        self._default_s = default_s

    async def execute(
        self, job: Job, ctx: JobContext, call_next: Callable[[], Awaitable[object]]
    ) -> object:
        """Wait for the handler no longer than allowed.

        :raises JobTimeoutError: the time was over; reported as error type ``timeout``.
        """
        seconds = job.timeout or self._default_s
        remaining = ctx.remaining_s()
        if remaining is not None:
            seconds = min(seconds, remaining)
        scope = asyncio.timeout(seconds)
        cause: Exception | None = None
        result: object = None
        try:
            async with scope:
                result = await call_next()
        except Exception as problem:
            if not scope.expired():
                raise
            cause = problem
        if scope.expired():
            raise JobTimeoutError(
                f"The execution of job {job.id} exceeded its timeout of {seconds:g} s."
            ) from cause
        return result
