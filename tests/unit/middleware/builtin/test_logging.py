"""Logging: levels, redaction, traces, origins; and what retries mean."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import Any

import pytest
from aws_lambda_powertools import Logger as PowertoolsLogger
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from ojs_aws.middleware import (
    EnqueueChain,
    ErrorReport,
    ErrorReportingMiddleware,
    ExecutionChain,
    JobTimeoutError,
    LoggingMiddleware,
    RetryLoggingMiddleware,
    TraceContextMiddleware,
)
from ojs_aws.middleware.builtin.redaction import masking
from ojs_aws.middleware.protocols import EnqueueSide, ExecutionSide
from ojs_aws.worker.failure import DiscardError, JobError, RetryError, SnoozeError
from tests.unit.middleware.doubles import JOB_ID, context, job, store

_enqueues: EnqueueSide = LoggingMiddleware()
_executes: list[ExecutionSide] = [LoggingMiddleware(), RetryLoggingMiddleware()]

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"


class Logger:
    """Keeps level, message and fields."""

    def __init__(self) -> None:
        self.records: list[tuple[int, object, dict[str, Any]]] = []

    def log(self, level: int, msg: object, /, *, extra: dict[str, Any]) -> None:
        self.records.append((level, msg, extra))

    def fields(self) -> list[dict[str, Any]]:
        return [fields for *_, fields in self.records]


def raising(problem: BaseException) -> Any:
    def handler(*_: object) -> None:
        raise problem

    return handler


async def execute(members: list[Any], handler: Any = lambda *_: None, **given: Any) -> object:
    executed = job(*given.pop("args", ()), **({"queue": "email", "attempt": 1} | given))
    return await ExecutionChain(members).run(executed, context(executed), handler)


async def drops(job: Any, call_next: Any) -> None:
    return None


# ---------------------------------------------------------------------------------- levels
async def test_each_outcome_has_its_level() -> None:
    """Success, failure and drop."""
    logger = Logger()
    logging_ = LoggingMiddleware(
        logger, level=logging.DEBUG, failure_level=logging.CRITICAL, drop_level=logging.WARNING
    )
    await EnqueueChain([logging_]).run(job(), store)
    await EnqueueChain([logging_, drops]).run(job(), store)
    await execute([logging_])
    with pytest.raises(OSError, match="x"):
        await execute([logging_], raising(OSError("x")))
    assert [(level, message) for level, message, _ in logger.records] == [
        (logging.DEBUG, "Job enqueued"),
        (logging.WARNING, "Job dropped"),
        (logging.DEBUG, "Job started"),
        (logging.DEBUG, "Job completed"),
        (logging.DEBUG, "Job started"),
        (logging.CRITICAL, "Job failed"),
    ]


async def test_powertools_logger_will_do() -> None:
    """MW-BUILTIN-002: its JSON has the fields at the top."""
    stream = io.StringIO()
    powertools = PowertoolsLogger(service="logging-test", stream=stream)
    await EnqueueChain([LoggingMiddleware(powertools)]).run(job(queue="email"), store)
    logged = json.loads(stream.getvalue())
    assert (logged["message"], logged["service"], logged["level"]) == (
        "Job enqueued",
        "logging-test",
        "INFO",
    )
    assert (logged["job_id"], logged["job_type"], logged["queue"]) == (JOB_ID, "a.b", "email")


async def test_a_job_that_was_given_up_is_logged_as_such() -> None:
    """It has no status: neither completed nor failed."""
    logger = Logger()

    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    running = asyncio.ensure_future(execute([LoggingMiddleware(logger)], hangs))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    level, message, fields = logger.records[-1]
    assert (level, message) == (logging.INFO, "Job given up")
    assert "status" not in fields
    assert "duration_ms" in fields


async def test_a_snooze_is_logged_as_such() -> None:
    """Nothing has failed; when the job comes again is said."""
    logger = Logger()
    with pytest.raises(SnoozeError):
        await execute([LoggingMiddleware(logger)], raising(SnoozeError("10m")))
    level, message, fields = logger.records[-1]
    assert (level, message) == (logging.INFO, "Job snoozed")
    assert (fields["status"], fields["delay_ms"]) == ("snoozed", 600_000)


async def test_the_log_names_the_middleware_that_raised_an_error() -> None:
    """MW-EXE-022: by its origin."""
    logger = Logger()

    async def breaks(job: Any, ctx: Any, call_next: Any) -> object:
        raise RuntimeError("broken")

    for handler, members in ((raising(OSError("x")), []), (print, [breaks])):
        with pytest.raises((OSError, RuntimeError)):
            await execute([LoggingMiddleware(logger), *members], handler)
    failed = [fields for _, message, fields in logger.records if message == "Job failed"]
    assert [fields.get("origin") for fields in failed] == [None, "middleware:breaks"]
    assert failed[0].keys() == {
        "job_id",
        "job_type",
        "queue",
        "attempt",
        "duration_ms",
        "status",
        "error",
    }


# -------------------------------------------------------------------------------- arguments
SECRET = {"to": "a@b.c", "auth": {"Password": "p", "tokens": [{"token": "t"}]}}


async def test_arguments_are_not_logged_by_default() -> None:
    """ojs-logging, section 9: in no record of either chain."""
    logger = Logger()
    await EnqueueChain([LoggingMiddleware(logger)]).run(job(SECRET), store)
    await execute([LoggingMiddleware(logger)], args=(SECRET,))
    assert all("job_args" not in fields for fields in logger.fields())
    assert "a@b.c" not in repr(logger.records)


async def test_keys_are_masked_at_any_depth() -> None:
    """And the job's own arguments stay as they are."""
    logger = Logger()
    enqueued = job(SECRET, 5, ["plain"])
    logging_ = LoggingMiddleware(logger, log_args={"password", "token"})
    await EnqueueChain([logging_]).run(enqueued, store)
    shown = {"to": "a@b.c", "auth": {"Password": "***", "tokens": [{"token": "***"}]}}
    assert logger.fields()[0]["job_args"] == [shown, 5, ["plain"]]
    assert enqueued.args[0] == SECRET


async def test_a_function_says_what_of_the_arguments_is_logged() -> None:
    """It may change what it gets: that is a copy, to its depth."""
    logger = Logger()

    def redact(args: list[Any]) -> list[Any]:
        args[0]["auth"]["Password"] = "gone"
        return args[:1]

    enqueued = job(SECRET, 5)
    await EnqueueChain([LoggingMiddleware(logger, log_args=redact)]).run(enqueued, store)
    assert logger.fields()[0]["job_args"][0]["auth"]["Password"] == "gone"
    assert SECRET["auth"]["Password"] == "p"  # type: ignore[index]


async def test_a_broken_redaction_shows_nothing_and_fails_nothing() -> None:
    """Not even the text of its error, which may hold an argument."""
    logger = Logger()

    def broken(args: list[Any]) -> list[Any]:
        raise KeyError(args[0]["auth"])

    chain = EnqueueChain([LoggingMiddleware(logger, log_args=broken)])
    assert await chain.run(job(SECRET), store) is not None
    assert logger.fields()[0]["job_args"] == ["not shown: the redaction raised KeyError"]


async def test_arguments_as_they_are_for_those_who_ask(caplog: pytest.LogCaptureFixture) -> None:
    """The standard logger takes the field: its own ``args`` are something else."""
    with caplog.at_level(logging.INFO, "ojs_aws.job"):
        await EnqueueChain([LoggingMiddleware(log_args=True)]).run(job("x"), store)
    assert caplog.records[0].__dict__["job_args"] == ["x"]


def test_a_text_is_no_collection_of_names() -> None:
    """It would mask its letters."""
    with pytest.raises(ValueError, match="not the text 'token'"):
        masking("token")


# ------------------------------------------------------------------------------------ traces
async def test_records_have_the_trace_when_trace_context_is_outermost() -> None:
    """On both sides, from the first record on."""
    logger = Logger()
    members = [TraceContextMiddleware(), LoggingMiddleware(logger)]
    await execute(members, meta={"traceparent": TRACEPARENT})
    await EnqueueChain(members).run(job(meta={"traceparent": TRACEPARENT}), store)
    assert [fields["trace_id"] for fields in logger.fields()] == [TRACE_ID] * 3


async def test_mw_chain_018_records_have_the_trace_of_the_execution() -> None:
    """In the worker's trace, which is linked to the job's: logging is further in."""
    logger = Logger()
    tracing = TraceContextMiddleware(relation="link", tracer_provider=TracerProvider())
    seen: list[str] = []

    def handler(*_: object) -> None:
        seen.append(trace.format_trace_id(trace.get_current_span().get_span_context().trace_id))

    members = [tracing, LoggingMiddleware(logger)]
    await execute(members, handler, meta={"traceparent": TRACEPARENT})
    assert [fields["trace_id"] for fields in logger.fields()] == seen * 2
    assert seen != [TRACE_ID]


@pytest.mark.parametrize("meta", [{"traceparent": 5}, {"traceparent": "x"}, {}])
async def test_without_a_valid_trace_there_is_no_trace_id(meta: dict[str, Any]) -> None:
    """The field is left out."""
    logger = Logger()
    await execute([LoggingMiddleware(logger)], meta=meta)
    assert all("trace_id" not in fields for fields in logger.fields())


async def test_jobs_at_the_same_time_keep_their_records_apart() -> None:
    """MW-CHAIN-026: fifty tasks through one instance."""
    logger = Logger()
    chain = ExecutionChain([LoggingMiddleware(logger), RetryLoggingMiddleware(logger)])

    async def one(number: int) -> None:
        executed = job(id=str(number), attempt=number)
        await chain.run(executed, context(executed), lambda *_: asyncio.sleep(0))

    async with asyncio.TaskGroup() as group:
        for number in range(1, 51):
            group.create_task(one(number))
    assert len(logger.records) == 50 * 3 - 1
    assert all(fields["job_id"] == str(fields["attempt"]) for fields in logger.fields())


# ----------------------------------------------------------------------------------- retries
RETRY = {"max_attempts": 3, "initial_interval": "PT10S", "jitter": False}


async def attempt(problem: BaseException | None = None, **given: Any) -> list[Any]:
    """Level, message and fields of what was logged."""
    logger = Logger()
    members = [RetryLoggingMiddleware(logger)]
    if problem is None:
        await execute(members, **given)
    else:
        with pytest.raises(type(problem)):
            await execute(members, raising(problem), **given)
    return logger.records


async def test_a_first_attempt_that_succeeds_is_not_logged() -> None:
    """There is nothing to say about retries."""
    assert await attempt(retry=RETRY) == []


async def test_a_failed_attempt_says_when_the_next_one_follows() -> None:
    """The delay of the job's own policy, as the backend computes it."""
    ((level, message, fields),) = await attempt(OSError("x"), retry=RETRY)
    assert level == logging.WARNING
    assert message == "Attempt 1 of 3 failed; the next one follows in 10 s"
    assert fields == {
        "job_id": JOB_ID,
        "job_type": "a.b",
        "queue": "email",
        "attempt": 1,
        "max_attempts": 3,
        "delay_ms": 10_000,
        "error": "OSError: x",
    }


async def test_the_delay_that_an_error_names_is_logged() -> None:
    """It outweighs the policy's; a snooze is no failure, and logged by nobody here."""
    records = await attempt(RetryError("busy", delay="90s"))
    assert records[-1][2]["delay_ms"] == 90_000
    assert await attempt(SnoozeError("90s")) == []


async def test_the_delay_is_the_backend_s_with_jitter_too() -> None:
    """It depends on job and attempt alone."""
    from ojs_aws.domain.retry import RetryPolicy

    records = await attempt(OSError("x"), attempt=2)
    assert records[-1][2]["delay_ms"] == RetryPolicy().delay_ms(2, f"{JOB_ID}:2")


async def test_a_retry_says_what_failed_before() -> None:
    """MW-EXE, section 4.5: more context from the second attempt on."""
    error = {"type": "OSError", "message": "SMTP"}
    ((level, message, fields),) = await attempt(attempt=2, retry=RETRY, error=error)
    assert (level, message) == (logging.WARNING, "Retrying: attempt 2 of 3")
    assert fields["error"] == "OSError: SMTP"


async def test_attempts_that_were_given_back_do_not_count() -> None:
    """As for the backend: such an attempt makes the next neither the last, nor later."""
    from ojs_aws.domain.retry import RetryPolicy

    given = {"attempt": 3, "max_attempts": 3, "x_aws_uncounted_attempts": 1}
    started, (level, message, fields) = await attempt(OSError("x"), **given)
    assert started[1] == "Retrying: attempt 2 of 3"
    delay_ms = RetryPolicy().delay_ms(2, f"{JOB_ID}:3")
    assert (level, fields["delay_ms"]) == (logging.WARNING, delay_ms)
    assert str(message).startswith("Attempt 2 of 3 failed; the next one follows in")
    assert fields["attempt"] == 3


@pytest.mark.parametrize(
    ("problem", "given"),
    [
        (OSError("x"), {"attempt": 3, "retry": RETRY}),
        (OSError("x"), {"retry": {"max_attempts": 0}}),
        (OSError("x"), {"retry": RETRY | {"non_retryable_errors": ["OSError"]}}),
        (JobTimeoutError("x"), {"retry": RETRY | {"non_retryable_errors": ["timeout"]}}),
        (
            JobError("x", type="card.declined"),
            {"retry": RETRY | {"non_retryable_errors": ["card.*"]}},
        ),
        (JobError("x", retryable=False), {"retry": RETRY}),
        (DiscardError("x"), {"retry": RETRY}),
        (OSError("x"), {"attempt": 2, "max_attempts": 2}),
    ],
)
async def test_the_last_attempt_says_so(problem: Exception, given: dict[str, Any]) -> None:
    """Attempts are exhausted, or the error ends the job."""
    level, message, fields = (await attempt(problem, **given))[-1]
    assert level == logging.ERROR
    assert str(message).endswith("; it was the last")
    assert "delay_ms" not in fields


async def test_a_policy_that_cannot_be_read_leaves_the_delay_out() -> None:
    """The backend would have refused it; a job does not fail because of a log record."""
    ((_, message, fields),) = await attempt(OSError("x"), retry={"initial_interval": "soon"})
    assert message == "Attempt 1 of 1 failed"
    assert "delay_ms" not in fields


# --------------------------------------------------------------------- error reporting's default
async def test_errors_are_reported_without_configuration(caplog: pytest.LogCaptureFixture) -> None:
    """MW-BUILTIN-011: a structured record, without the arguments."""
    with pytest.raises(OSError, match="SMTP"):
        await execute([ErrorReportingMiddleware()], raising(OSError("SMTP")), args=("secret",))
    (record,) = caplog.records
    logged = record.__dict__
    assert (record.name, record.levelname) == ("ojs_aws.errors", "ERROR")
    assert (logged["job_id"], logged["error_type"], logged["error_message"]) == (
        JOB_ID,
        "OSError",
        "SMTP",
    )
    assert " in handler" in logged["backtrace"][0]
    assert "secret" not in repr(logged)


class SilentError(Exception):
    """Cannot say what it means."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "middleware", [LoggingMiddleware, RetryLoggingMiddleware, ErrorReportingMiddleware]
)
async def test_an_error_without_words_stays_what_it_is(
    middleware: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its class stands in for them."""
    caplog.set_level(logging.INFO)
    with pytest.raises(SilentError):
        await execute([middleware()], raising(SilentError()))
    assert "SilentError" in repr([vars(each) for each in caplog.records])
    assert "could not be reported" not in caplog.text


@pytest.mark.parametrize("problem", [SystemExit(1), asyncio.CancelledError(), BaseException()])
async def test_whatever_fails_a_job_is_reported(problem: BaseException) -> None:
    """A handler that exits, too: the worker takes it for a failure."""
    reports: list[ErrorReport] = []
    with pytest.raises(type(problem)):
        await execute([ErrorReportingMiddleware(reports.append)], raising(problem))
    assert [report.error for report in reports] == [problem]
