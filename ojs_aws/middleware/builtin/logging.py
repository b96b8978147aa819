"""Log what becomes of jobs, in both chains, and what a failed attempt means."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.domain.errors import DuplicateError, OjsError
from ojs_aws.domain.retry import RetryPolicy, parse_retry_policy
from ojs_aws.middleware.builtin.redaction import Redaction, masking, redacted, show_all
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import EnqueueNext, ExecutionNext
from ojs_aws.middleware.results import (
    COMPLETED,
    GIVEN_UP,
    NO_FAILURES,
    SNOOZED,
    TIMEOUT,
    described,
    outcome_of,
)

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger as PowertoolsLogger

HANDLER: Final = "handler"
_FAULT: Final = 500
"""From this HTTP status on, an error is not the fault of the request."""
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_FINAL_CODES = frozenset({"DISCARD", "FAIL", "DEAD_LETTER"})


class StructuredLogger(Protocol):
    """Writes records with fields, as a standard logger does."""

    def log(self, level: int, msg: object, /, *, extra: dict[str, object]) -> None:
        """Write a record with fields."""


AnyLogger: TypeAlias = "StructuredLogger | PowertoolsLogger"


def logger_of(given: AnyLogger | None) -> StructuredLogger:
    """Return the logger to use, by default the standard logger ``ojs_aws.job``."""
    if given is None:
        return logging.getLogger("ojs_aws.job")
    return cast("StructuredLogger", given)  # Powertools' has log(), but does not declare it


class LoggingMiddleware:
    """Logs what becomes of each job that is enqueued or executed.

    The fields are ``job_id``, ``job_type``, ``queue``, ``attempt``, ``duration_ms``, ``status``
    (``completed``, ``failed``, ``timeout`` or ``snoozed``), ``error``, and ``delay_ms`` of a
    snooze; what is not known is left out. Three more come when there is something to say:
    ``trace_id``, of the execution's span where TraceContextMiddleware is further out, else of the
    job's ``traceparent``; ``origin``, the middleware or hook that raised the error, where it was
    not the handler; and ``job_args``, if asked for. Arguments and results are never logged by
    default.
    """

    never_waits = True

    def __init__(
        self,
        logger: AnyLogger | None = None,
        *,
        level: int = logging.INFO,
        failure_level: int = logging.ERROR,
        drop_level: int | None = None,
        log_args: bool | Collection[str] | Redaction = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Log to ``logger``: a standard one or Powertools'; by default ``ojs_aws.job``.

        :param level: level of what goes well.
        :param failure_level: level of what fails; a duplicate, or a refused job, is no failure.
        :param drop_level: level of jobs that a middleware dropped; as ``level`` by default.
        :param log_args: False, to log no arguments; names of keys, whose values are masked at any
            depth; a function from the list to what of it may be logged; True logs them as they
            are.
        :param clock: monotonic seconds.
        :raises ValueError: ``log_args`` is a text.
        """
        self._logger = logger_of(logger)
        self._level = level
        self._failure_level = failure_level
        self._drop_level = level if drop_level is None else drop_level
        self._redaction = _redaction(log_args)
        self._clock = clock

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Log what became of a job that was to be enqueued."""
        try:
            stored = await call_next(job)
        except Exception as problem:
            self._log_unstored(problem, job)
            raise
        if stored is None:
            self._logger.log(self._drop_level, "Job dropped", extra=self._about(job, job.queue))
        else:
            fields = self._about(stored, stored.queue)
            self._logger.log(self._level, "Job enqueued", extra=fields)
        return stored

    def _log_unstored(self, problem: Exception, job: Job) -> None:
        """Log why a job was not stored; a refusal is an answer, which its caller gets."""
        level, message = self._failure_level, "Enqueue failed"
        if isinstance(problem, DuplicateError):
            level, message = self._level, "Duplicate not enqueued"
        elif isinstance(problem, OjsError) and not problem.retryable and problem.status < _FAULT:
            level, message = self._level, "Enqueue refused"
        fields = self._about(job, job.queue) | {"error": described(problem)}
        self._logger.log(level, message, extra=fields)

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Log the start and the end of an execution."""
        self._logger.log(self._level, "Job started", extra=self._execution(job, ctx))
        started = self._clock()
        try:
            result = await call_next()
        except BaseException as problem:
            self._log_failure(problem, job, ctx, self._since(started))
            raise
        took = {"duration_ms": self._since(started)}
        ended, said = {"status": COMPLETED} | took, "Job completed"
        if ctx.is_handed_over:
            ended, said = {"status": "handed_over"} | took, "Job handed over"
        self._logger.log(self._level, said, extra=self._execution(job, ctx) | ended)
        return result

    def _log_failure(
        self, problem: BaseException, job: Job, ctx: JobContext, duration_ms: float
    ) -> None:
        ended: dict[str, object] = {"duration_ms": duration_ms}
        outcome = outcome_of(problem)
        if outcome == GIVEN_UP:
            fields = self._execution(job, ctx) | ended
            self._logger.log(self._level, "Job given up", extra=fields)
            return
        if outcome == SNOOZED:
            ended |= {"status": SNOOZED, "delay_ms": getattr(problem, "delay_ms", None)}
            fields = self._execution(job, ctx) | ended
            self._logger.log(self._level, "Job snoozed", extra=fields)
            return
        ended |= {"status": outcome, "error": described(problem)}
        origin = ctx.failure_origin(problem)
        if origin != HANDLER:
            ended["origin"] = origin
        fields = self._execution(job, ctx) | ended
        self._logger.log(self._failure_level, "Job failed", extra=fields)

    def _execution(self, job: Job, ctx: JobContext) -> dict[str, object]:
        fields = self._about(job, ctx.queue) | {"attempt": ctx.attempt}
        trace_id = ctx.metadata.get("trace_id")
        return fields | {"trace_id": trace_id} if trace_id else fields

    def _about(self, job: Job, queue: str) -> dict[str, object]:
        fields: dict[str, object] = {"job_id": job.id, "job_type": job.type, "queue": queue}
        trace_id = _carried_trace_id(job)
        if trace_id:
            fields["trace_id"] = trace_id
        if self._redaction is not None:
            fields["job_args"] = redacted(job.args, self._redaction)
        return fields

    def _since(self, started: float) -> float:
        return round((self._clock() - started) * 1000, 3)


def _redaction(log_args: bool | Collection[str] | Redaction) -> Redaction | None:  # noqa: FBT001 - one of several ways to say it
    if callable(log_args):
        return log_args
    if isinstance(log_args, bool):
        return show_all if log_args else None
    return masking(log_args)


def _carried_trace_id(job: Job) -> str:
    """Return the id of the trace that the job carries; empty without a valid one."""
    meta = job.get("meta")
    traceparent = meta.get("traceparent") if isinstance(meta, dict) else None
    if not isinstance(traceparent, str):
        return ""
    found = _TRACEPARENT.fullmatch(traceparent)
    return found[1] if found else ""


class RetryLoggingMiddleware:
    """Logs which attempt of how many this is, and when the next one follows.

    A retry is logged when it starts, with what the attempt before failed with. A failure is logged
    with ``delay_ms``, the delay until the next attempt, or as the last attempt. The delay is the
    one that the error names, else the one that the backend will choose: its jitter depends on the
    job and the attempt alone. A policy that cannot be read leaves it out. A snooze is no failure.
    Attempts that were given back do not count, except in the field ``attempt``.

    The fields are ``job_id``, ``job_type``, ``queue``, ``attempt``, ``max_attempts``, and as they
    are known ``delay_ms`` and ``error``.
    """

    def __init__(self, logger: AnyLogger | None = None, *, level: int = logging.WARNING) -> None:
        """Log to ``logger``, by default the standard logger ``ojs_aws.job``.

        :param level: of failures that are retried, and of retries; a last attempt that fails is
            an error.
        """
        self._logger = logger_of(logger)
        self._level = level

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute, and log what concerns retries."""
        if _counted(job, ctx) > 1:
            before = job.error or {}
            known = [before.get("type") or before.get("code"), before.get("message")]
            error = ": ".join(str(part) for part in known if part)
            more = {"error": error} if error else {}
            message = f"Retrying: attempt {_of(job, ctx)}"
            self._logger.log(self._level, message, extra=_fields(job, ctx) | more)
        try:
            return await call_next()
        except BaseException as problem:
            if outcome_of(problem) not in NO_FAILURES:
                self._log_failure(problem, job, ctx)
            raise

    def _log_failure(self, problem: BaseException, job: Job, ctx: JobContext) -> None:
        fields = _fields(job, ctx) | {"error": described(problem)}
        policy = _policy(job)
        failed = f"Attempt {_of(job, ctx)} failed"
        if policy is None:
            self._logger.log(self._level, failed, extra=fields)
        elif _is_final(problem, policy, job, ctx):
            message = f"{failed}; it was the last"
            self._logger.log(logging.ERROR, message, extra=fields)
        else:
            own: object = getattr(problem, "delay_ms", None)
            policys = policy.delay_ms(_counted(job, ctx), f"{job.id}:{ctx.attempt}")
            delay_ms = own if isinstance(own, int) else policys
            message = f"{failed}; the next one follows in {delay_ms / 1000:g} s"
            self._logger.log(self._level, message, extra=fields | {"delay_ms": delay_ms})


def _policy(job: Job) -> RetryPolicy | None:
    try:
        return parse_retry_policy(job.get("retry"))
    except OjsError:
        return None


def _allowed(job: Job) -> int:
    policy = _policy(job)
    return job.max_attempts or max(policy.max_attempts if policy else 0, 1)


def _counted(job: Job, ctx: JobContext) -> int:
    """Return the number of the attempt without those that were given back (NACK with requeue)."""
    return max(ctx.attempt - uncounted_attempts(job), 1)


def _is_final(problem: BaseException, policy: RetryPolicy, job: Job, ctx: JobContext) -> bool:
    """Return True if the backend will not retry, as far as a worker can know."""
    if getattr(problem, "retryable", None) is False:
        return True
    if getattr(problem, "response_code", "") in _FINAL_CODES:
        return True
    own: object = getattr(problem, "type", None) if hasattr(problem, "response_code") else None
    name = own if isinstance(own, str) and own else type(problem).__name__
    if outcome_of(problem) == TIMEOUT:
        name = TIMEOUT
    return policy.forbids(name) or _counted(job, ctx) >= _allowed(job)


def _of(job: Job, ctx: JobContext) -> str:
    return f"{_counted(job, ctx)} of {_allowed(job)}"


def _fields(job: Job, ctx: JobContext) -> dict[str, object]:
    return ctx.log_fields | {"max_attempts": _allowed(job)}
