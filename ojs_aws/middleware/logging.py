"""Logging around both chains (middleware specification, section 8.1.1)."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.errors import JobTimeoutError


class StructuredLogger(Protocol):
    """A standard logger, or Powertools' Logger."""

    def log(self, level: int, msg: object, /, *, extra: dict[str, object]) -> None:
        """Write a record with fields."""


class LoggingMiddleware:
    """Logs each job that is enqueued, dropped, started, completed or failed.

    The fields are ``job_id``, ``job_type``, ``queue``, ``attempt``, ``duration_ms``, ``status``
    (``completed``, ``failed`` or ``timeout``) and ``error``. Arguments are never logged.
    """

    never_waits = True
    """Enqueueing through it needs no event loop."""

    def __init__(
        self,
        logger: StructuredLogger | None = None,
        *,
        level: int = logging.INFO,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Log to ``logger``, by default the standard logger ``ojs_aws.job``.

        :param level: level of what goes well; failures are logged as errors.
        :param clock: monotonic seconds.
        """
        self._logger = logger or logging.getLogger("ojs_aws.job")
        self._level = level
        self._clock = clock

    async def enqueue(
        self, job: Job, call_next: Callable[[Job], Awaitable[Job | None]]
    ) -> Job | None:
        """Log what became of a job that was to be enqueued."""
        fields: dict[str, object] = {"job_id": job.id, "job_type": job.type, "queue": job.queue}
        try:
            result = await call_next(job)
        except Exception as problem:
            self._log(logging.ERROR, "Enqueue failed", fields | {"error": str(problem)})
            raise
        self._log(self._level, "Job dropped" if result is None else "Job enqueued", fields)
        return result

    async def execute(
        self, job: Job, ctx: JobContext, call_next: Callable[[], Awaitable[object]]
    ) -> object:
        """Log the start and the end of an execution."""
        fields: dict[str, object] = {
            "job_id": job.id,
            "job_type": job.type,
            "queue": ctx.queue,
            "attempt": ctx.attempt,
        }
        self._log(self._level, "Job started", fields)
        started = self._clock()
        try:
            result = await call_next()
        except Exception as problem:
            status = "timeout" if isinstance(problem, JobTimeoutError) else "failed"
            ended = {"status": status, "error": f"{type(problem).__name__}: {problem}"}
            self._log(logging.ERROR, "Job failed", fields | ended | self._since(started))
            raise
        ended = {"status": "completed"}
        self._log(self._level, "Job completed", fields | ended | self._since(started))
        return result

    def _since(self, started: float) -> dict[str, object]:
        return {"duration_ms": round((self._clock() - started) * 1000, 3)}

    def _log(self, level: int, message: str, fields: dict[str, object]) -> None:
        self._logger.log(level, message, extra=fields)
