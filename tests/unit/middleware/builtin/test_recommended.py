"""Logging and the timeout of the recommended chain."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    DuplicateError,
    InvalidRequestError,
    OjsError,
    QueueFullError,
)
from ojs_aws.middleware import (
    EnqueueChain,
    ExecutionChain,
    JobTimeoutError,
    LoggingMiddleware,
    TimeoutMiddleware,
)
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


async def run_with_timeout(handler: Any, seconds: float, **given: Any) -> object:
    executed = job()
    chain = ExecutionChain([TimeoutMiddleware(seconds)])
    return await chain.run(executed, context(executed, **given), handler)


def fails(*_: object) -> None:
    raise ConnectionError("SMTP")


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
    assert logger.records[0][:2] == (logging.ERROR, "Enqueue failed")
    assert logger.records[0][2]["error"] == "KeyError: 'schema'"


@pytest.mark.parametrize(
    ("problem", "level", "message"),
    [
        (DuplicateError("there is one"), logging.INFO, "Duplicate not enqueued"),
        (InvalidRequestError("no such option"), logging.INFO, "Enqueue refused"),
        (QueueFullError("full"), logging.ERROR, "Enqueue failed"),
        (BackendUnavailableError("throttled"), logging.ERROR, "Enqueue failed"),
    ],
)
async def test_a_duplicate_and_a_refusal_are_logged_as_no_errors(
    problem: OjsError, level: int, message: str
) -> None:
    """The caller has the exception, so nothing is printed where logging is not set up."""

    async def refuses(_: Job) -> Job:
        raise problem

    logger = Logger()
    with pytest.raises(type(problem)):
        await EnqueueChain([LoggingMiddleware(logger)]).run(job(queue="email"), refuses)
    error = f"{type(problem).__name__}: {problem}"
    assert logger.records == [(level, message, ABOUT | {"error": error})]


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


async def test_appendix_a_timeout_middleware_cancels_slow_handlers() -> None:
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
