"""Error reporting: each failure once, raised again, and nothing hidden."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ojs_aws.middleware import (
    ExecutionChain,
    JobTimeoutError,
)
from ojs_aws.middleware.builtin.error_reports import ErrorReport, ErrorReportingMiddleware
from ojs_aws.worker.failure import SnoozeError
from tests.unit.middleware.doubles import JOB_ID, context, job

ABOUT = {"job_id": JOB_ID, "job_type": "a.b", "queue": "email"}


class Sink:
    """Keeps reports; may be broken."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.reports: list[ErrorReport] = []
        self.problem = problem

    async def __call__(self, report: ErrorReport) -> None:
        self.reports.append(report)
        if self.problem is not None:
            raise self.problem


def fails(*_: object) -> None:
    raise ConnectionError("SMTP")


async def test_appendix_a_error_reporting_middleware_reports_and_raises_again() -> None:
    """MW-BUILTIN-011..013: the structured error, and what the job was."""
    sink = Sink()
    executed = job("a@b.c", queue="email", attempt=3)
    with pytest.raises(ConnectionError) as raised:
        await ExecutionChain([ErrorReportingMiddleware(sink)]).run(
            executed, context(executed), fails
        )
    (report,) = sink.reports
    assert report.error is raised.value
    fields = report.as_dict()
    frames = fields.pop("backtrace")
    assert isinstance(frames, list)
    assert " in fails: " in str(frames[0])
    assert fields == ABOUT | {
        "type": "ConnectionError",
        "message": "SMTP",
        "attempt": 3,
        "args": ["a@b.c"],
    }


async def test_a_snooze_is_not_reported() -> None:
    """Nothing has failed."""
    sink = Sink()

    def snoozes(*_: object) -> None:
        raise SnoozeError("10m")

    with pytest.raises(SnoozeError):
        await ExecutionChain([ErrorReportingMiddleware(sink)]).run(job(), context(), snoozes)
    assert sink.reports == []


async def test_a_synchronous_reporter_will_do() -> None:
    """A function that appends to a list, say."""
    reports: list[ErrorReport] = []
    with pytest.raises(ConnectionError):
        await ExecutionChain([ErrorReportingMiddleware(reports.append)]).run(
            job(), context(), fails
        )
    assert [report.type for report in reports] == ["ConnectionError"]


async def test_mw_builtin_013_a_broken_reporter_hides_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """MW-BUILTIN-013: the job's own error is raised, and the reporter's is logged."""
    chain = ExecutionChain([ErrorReportingMiddleware(Sink(OSError("tracker down")))])
    with pytest.raises(ConnectionError, match="SMTP"):
        await chain.run(job(), context(), fails)
    assert "could not be reported" in caplog.text


async def test_arguments_leave_the_process_as_redaction_left_them() -> None:
    """And redaction works on a copy, all the way down."""
    sink = Sink()
    given = job("secret", {"password": "secret"})

    def redact(args: list[Any]) -> list[Any]:
        args[0] = args[1]["password"] = "***"
        return args

    with pytest.raises(ConnectionError):
        await ExecutionChain([ErrorReportingMiddleware(sink, redact=redact)]).run(
            given, context(given), fails
        )
    assert sink.reports[0].args == ["***", {"password": "***"}]
    assert given.args == ["secret", {"password": "secret"}]


async def test_a_redaction_that_fails_shows_nothing_and_the_report_goes_out() -> None:
    sink = Sink()

    def broken(args: list[Any]) -> list[Any]:
        raise LookupError

    with pytest.raises(ConnectionError):
        await ExecutionChain([ErrorReportingMiddleware(sink, redact=broken)]).run(
            job("secret"), context(), fails
        )
    assert "secret" not in str(sink.reports[0].args)
    assert "LookupError" in str(sink.reports[0].args)


async def test_a_timeout_is_reported_as_such() -> None:
    """The type that FAIL carries too."""
    sink = Sink()

    def times_out(*_: object) -> None:
        raise JobTimeoutError("30 s")

    with pytest.raises(JobTimeoutError):
        await ExecutionChain([ErrorReportingMiddleware(sink)]).run(job(), context(), times_out)
    assert sink.reports[0].type == "timeout"


async def test_cancellation_is_not_reported() -> None:
    """The worker gives the job up; nothing went wrong."""
    sink = Sink()

    async def waits(*_: object) -> None:
        await asyncio.Event().wait()

    chain = ExecutionChain([ErrorReportingMiddleware(sink)])
    running = asyncio.ensure_future(chain.run(job(), context(), waits))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sink.reports == []
