"""Report failed executions to an error tracker (middleware specification, section 8.1.4)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Final, TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.failures import MAX_MESSAGE_CHARACTERS, bound_backtrace
from ojs_aws.middleware.builtin.redaction import Redaction, redacted
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import ExecutionNext
from ojs_aws.middleware.results import NO_FAILURES, JobTimeoutError, message_of, outcome_of

_OWN: Final = tuple(
    str(Path(__file__).resolve().parents[2] / name) for name in ("worker", "middleware")
)
_MACHINERY: Final = ("asyncio", "threading.py", "concurrent", "contextvars")


def backtrace_of(problem: BaseException) -> tuple[str, ...]:
    """Return the frames of an error, of its causes and of the members of a group.

    The innermost frame is first. Frames of the worker, of the chain and of what runs coroutines and
    threads are left out, and the last line says how many. At most 50 lines and 10,000 characters.
    """
    lines: list[str] = []
    left_out = 0
    seen: set[int] = set()
    pending = [("", problem)]
    while pending:
        title, error = pending.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        frames, also_left_out = _frames(error.__traceback__)
        lines += [title, *frames] if title else frames
        left_out += also_left_out
        pending += reversed(_behind(error))
    if not left_out:
        return bound_backtrace(lines)
    note = f"({left_out} frames of the worker and of its middleware chain left out)"
    return (*bound_backtrace(lines, but=note), note)


def _behind(error: BaseException) -> list[tuple[str, BaseException]]:
    """Return the members of a group and the cause of an error, each with a line that names it."""
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    behind = [("with", member) for member in members]
    if error.__cause__ is not None:
        behind.append(("caused by", error.__cause__))
    return [(f"{how} {type(one).__name__}: {message_of(one)[:200]}", one) for how, one in behind]


def _frames(trace: TracebackType | None) -> tuple[list[str], int]:
    """Return the frames that are shown, and how many are not."""
    summary = traceback.extract_tb(trace)
    shown = [frame for frame in summary if not _is_own(frame.filename)]
    texts = [
        f"{frame.filename}:{frame.lineno} in {frame.name}"
        + (f": {frame.line}" if frame.line else "")
        for frame in reversed(shown)
    ]
    return texts, len(summary) - len(shown)


def _is_own(filename: str) -> bool:
    if filename.startswith(_OWN):
        return True
    path = Path(filename)
    is_library = "python3" in filename or "lib" in path.parts
    return is_library and bool({*path.parts} & {*_MACHINERY})


_logger = logging.getLogger(__name__)
_errors = logging.getLogger("ojs_aws.errors")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """Describes one failed execution: the structured error (core, section 8) and its job.

    :ivar error: the exception itself, for trackers that want it.
    :ivar type: its class, or ``timeout`` for the execution timeout.
    :ivar backtrace: frames, innermost first; bounded as the error object's.
    :ivar args: the job's arguments as ``redact`` left them.
    """

    error: BaseException
    type: str
    message: str
    backtrace: tuple[str, ...]
    job_id: str
    job_type: str
    queue: str
    attempt: int
    args: Sequence[JsonValue]

    def as_dict(self) -> dict[str, JsonValue]:
        """Return the report as JSON data, without the exception."""
        members = {each.name: getattr(self, each.name) for each in fields(self)}
        del members["error"]
        return members | {"backtrace": [*self.backtrace], "args": [*self.args]}


Reporter: TypeAlias = Callable[[ErrorReport], Awaitable[None] | None]
"""Takes a report to where it belongs; a synchronous one must not block."""


def log_report(report: ErrorReport) -> None:
    """Write a report to the logger ``ojs_aws.errors``: the reporter that is used by default.

    It has the error's type, message and backtrace, and what the job was, but never its arguments.
    """
    _errors.error(
        "Job %s failed: %s",
        report.job_id,
        report.type,
        extra={
            "job_id": report.job_id,
            "job_type": report.job_type,
            "queue": report.queue,
            "attempt": report.attempt,
            "error_type": report.type,
            "error_message": report.message,
            "backtrace": [*report.backtrace],
        },
    )


@dataclass(eq=False, repr=False)
class ErrorReportingMiddleware:
    """Reports what is raised further in, and raises it again, always.

    A reporter that fails is logged and hides nothing. Cancellation and a snooze are no errors, and
    are not reported.

    Example::

        def to_sentry(report: ErrorReport) -> None:
            with sentry_sdk.new_scope() as scope:
                scope.set_context("job", report.as_dict())
                scope.capture_exception(report.error)

        worker.middleware.insert_before(TimeoutMiddleware, ErrorReportingMiddleware(to_sentry))

    :param report: where reports go, by default a log record (:func:`log_report`).
    :param redact: what of the arguments may leave the process, from a deep copy of them; all of
        them by default, and none where it fails.
    """

    report: Reporter = log_report
    _: KW_ONLY
    redact: Redaction | None = None

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute, and report a failure."""
        try:
            return await call_next()
        except BaseException as error:
            if outcome_of(error) not in NO_FAILURES:
                await self._send(error, job, ctx)
            raise

    async def _send(self, error: BaseException, job: Job, ctx: JobContext) -> None:
        try:
            reporting = self.report(self._report_of(error, job, ctx))
            if reporting is not None:
                await reporting
        except Exception:  # a broken reporter must not hide the job's own error
            said = "The error of job %s could not be reported"
            _logger.exception(said, job.id, extra=ctx.log_fields)

    def _report_of(self, error: BaseException, job: Job, ctx: JobContext) -> ErrorReport:
        args = [*job.args] if self.redact is None else redacted(job.args, self.redact)
        return ErrorReport(
            error=error,
            type="timeout" if isinstance(error, JobTimeoutError) else type(error).__name__,
            message=message_of(error)[:MAX_MESSAGE_CHARACTERS],
            backtrace=backtrace_of(error),
            job_id=job.id,
            job_type=job.type,
            queue=ctx.queue,
            attempt=ctx.attempt,
            args=args,
        )
