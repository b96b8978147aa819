"""Log what a failed attempt means for the job (specification, section 4.5; ojs-retry)."""

from __future__ import annotations

import logging

from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.retry import RetryPolicy, parse_retry_policy
from ojs_aws.middleware.builtin.logging import AnyLogger, logger_of
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.errors import NO_FAILURES, TIMEOUT, outcome_of
from ojs_aws.middleware.protocols import ExecutionNext

_FINAL_CODES = frozenset({"DISCARD", "FAIL", "DEAD_LETTER"})


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
        fields = _fields(job, ctx) | {"error": f"{type(problem).__name__}: {problem}"}
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
