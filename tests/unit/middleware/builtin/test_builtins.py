"""Logging, the timeout, error reporting, the context, and the backend's chain."""

from __future__ import annotations

import asyncio
import logging
import sys
from types import ModuleType
from typing import Any

import pytest

from ojs_aws.config import SettingsError
from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    EnqueueChain,
    ExecutionChain,
    JobContext,
    JobTimeoutError,
    LoggingMiddleware,
    TimeoutMiddleware,
)
from ojs_aws.middleware.builtin.error_reporting import ErrorReport, ErrorReportingMiddleware
from ojs_aws.middleware.configuration import enqueue_chain
from ojs_aws.middleware.protocols import EnqueueSide, ExecutionSide
from tests.unit.middleware.doubles import JOB_ID, context, job, store

_enqueues: EnqueueSide = LoggingMiddleware()
_executes: list[ExecutionSide] = [LoggingMiddleware(), TimeoutMiddleware()]


class Logger:
    """Keeps level, message and fields."""

    def __init__(self) -> None:
        self.records: list[tuple[int, object, dict[str, object]]] = []

    def log(self, level: int, msg: object, /, *, extra: dict[str, object]) -> None:
        self.records.append((level, msg, extra))


def ticking(*moments: float) -> Any:
    return iter(moments).__next__


ABOUT = {"job_id": JOB_ID, "job_type": "a.b", "queue": "email"}


@pytest.mark.parametrize("level", ["nope", "", 20, None])
def test_ctx_log_refuses_an_unknown_level_by_the_names_there_are(level: Any) -> None:
    """A KeyError said nothing of levels."""
    with pytest.raises(ValueError, match="debug, info, warning, error, critical, not"):
        context(job()).log(level, "hello")


async def test_mw_builtin_003_enqueueing_and_dropping_are_logged() -> None:
    """MW-BUILTIN-002, MW-BUILTIN-003: id, type and queue, and never the arguments."""

    async def drops(job: Job, call_next: Any) -> None:
        return None

    logger = Logger()
    logging_ = LoggingMiddleware(logger)
    await EnqueueChain([logging_]).run(job("secret", queue="email"), store)
    await EnqueueChain([logging_, drops]).run(job(queue="email"), store)
    assert logger.records == [
        (logging.INFO, "Job enqueued", ABOUT),
        (logging.INFO, "Job dropped", ABOUT),
    ]


async def test_a_failed_enqueue_is_logged_and_raised() -> None:
    """MW-ENQ-016."""

    async def aborts(job: Job, call_next: Any) -> None:
        raise KeyError("schema")

    logger = Logger()
    with pytest.raises(KeyError):
        await EnqueueChain([LoggingMiddleware(logger), aborts]).run(job(), store)
    assert logger.records[0][0] == logging.ERROR
    assert logger.records[0][2]["error"] == "KeyError: 'schema'"


async def test_mw_builtin_004_005_start_and_end_of_an_execution_are_logged() -> None:
    """MW-BUILTIN-004, MW-BUILTIN-005: exactly the specified fields."""
    logger = Logger()
    chain = ExecutionChain([LoggingMiddleware(logger, clock=ticking(1.0, 1.245))])
    executed = job("secret", queue="email", attempt=2)
    await chain.run(executed, context(executed), lambda *_: 1)
    about = ABOUT | {"attempt": 2}
    assert logger.records == [
        (logging.INFO, "Job started", about),
        (logging.INFO, "Job completed", about | {"status": "completed", "duration_ms": 245.0}),
    ]


@pytest.mark.parametrize(
    ("problem", "status"), [(OSError("x"), "failed"), (JobTimeoutError("x"), "timeout")]
)
async def test_mw_builtin_005_a_failed_execution_is_logged_and_raised(
    problem: Exception, status: str
) -> None:
    """MW-BUILTIN-005, MW-EXE-021."""
    logger = Logger()

    def fails(*_: object) -> None:
        raise problem

    with pytest.raises(type(problem)):
        await ExecutionChain([LoggingMiddleware(logger)]).run(job(), context(), fails)
    level, message, fields = logger.records[-1]
    assert (level, message, fields["status"]) == (logging.ERROR, "Job failed", status)
    assert fields["error"] == f"{type(problem).__name__}: x"
    assert "duration_ms" in fields


async def test_the_standard_logger_takes_the_fields(caplog: pytest.LogCaptureFixture) -> None:
    """Without any configuration of ours."""
    with caplog.at_level(logging.INFO, "ojs_aws.job"):
        await EnqueueChain.default().run(job(queue="email"), store)
    assert {name: getattr(caplog.records[0], name) for name in ABOUT} == ABOUT


async def run_with_timeout(handler: Any, seconds: float, **given: Any) -> object:
    executed = job()
    chain = ExecutionChain([TimeoutMiddleware(seconds)])
    return await chain.run(executed, context(executed, **given), handler)


async def test_appendix_a_timeout_middleware_cancels_a_handler_that_takes_too_long() -> None:
    """MW-BUILTIN-010, MW-BUILTIN-009: really cancelled, and the error says the limit."""
    cancelled: list[bool] = []

    async def slow(*_: object) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(JobTimeoutError, match=r"exceeded its timeout of 0\.001 s"):
        await run_with_timeout(slow, 0.001)
    assert cancelled == [True]


async def test_a_timeout_of_the_handler_s_own_is_not_the_job_s() -> None:
    """A socket's, say."""

    async def own(*_: object) -> None:
        raise TimeoutError("socket")

    with pytest.raises(TimeoutError, match="socket"):
        await run_with_timeout(own, 60)


async def test_a_handler_within_its_time_is_left_alone() -> None:
    """Its result passes."""
    assert await run_with_timeout(lambda *_: 7, 60) == 7


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
    told = report.as_dict()
    frames = told.pop("backtrace")
    assert isinstance(frames, list)
    assert " in fails: " in str(frames[0])
    assert told == ABOUT | {
        "type": "ConnectionError",
        "message": "SMTP",
        "attempt": 3,
        "args": ["a@b.c"],
    }


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


async def test_mw_exe_011_013_017_the_context_offers_what_section_4_4_asks_for() -> None:
    """MW-EXE-011..013, MW-EXE-015..017."""
    beats: list[int] = []

    async def beat() -> None:
        beats.append(1)

    executed = job(1, queue="email", attempt=2)
    ctx = JobContext(executed, heartbeat=beat)
    assert (ctx.job, ctx.attempt, ctx.queue) == (executed, 2, "email")
    assert JobContext(job()).attempt == 1
    await ctx.heartbeat()
    await JobContext(job()).heartbeat()
    assert beats == [1]
    ctx.set_result({"a": 1})
    assert ctx.result == {"a": 1}
    ctx.metadata["k"] = 1
    assert JobContext(executed).metadata == {}


def test_mw_exe_014_the_context_s_log_is_bound_to_the_job(caplog: pytest.LogCaptureFixture) -> None:
    """MW-EXE-014."""
    with caplog.at_level(logging.DEBUG, "ojs_aws.job"):
        context(job(queue="email", attempt=2)).log("warning", "hello", template="welcome")
    (record,) = caplog.records
    assert (record.levelno, record.message) == (logging.WARNING, "hello")
    assert {name: getattr(record, name) for name in ABOUT} == ABOUT
    assert (record.__dict__["attempt"], record.__dict__["template"]) == (2, "welcome")


def test_the_context_knows_when_a_job_was_given_up() -> None:
    """The first reason stays."""
    ctx = context()
    assert not ctx.is_cancelled
    ctx.cancel("cancelled")
    ctx.cancel("lost")
    assert (ctx.is_cancelled, ctx.cancelled_because) == (True, "cancelled")


def test_handled_means_this_very_error() -> None:
    """And not one that looks the same."""
    ctx, error = context(), ValueError("x")
    ctx.mark_handled(error)
    assert ctx.is_handled(error)
    assert not ctx.is_handled(ValueError("x"))


def test_mw_enq_026_the_backend_s_chain_is_found_by_its_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MW-ENQ-026: loaded and frozen at the start; the default one without a path."""
    module = ModuleType("users_module")
    module.mine = EnqueueChain([LoggingMiddleware])  # type: ignore[attr-defined]
    module.chain = EnqueueChain()  # type: ignore[attr-defined]
    module.other = 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "users_module", module)
    assert enqueue_chain("users_module:mine") is module.mine
    assert module.mine.is_frozen
    assert enqueue_chain("users_module") is module.chain
    assert enqueue_chain("").names() == ["logging"]
    for wrong in ("users_module:nothing", "users_module:other", "no_such_module_at_all:x"):
        with pytest.raises(SettingsError, match="OJS_ENQUEUE_MIDDLEWARE"):
            enqueue_chain(wrong)
