"""The execution of one job: handler, chain, result, failure, cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.middleware.builtin.timeout import TimeoutMiddleware
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.middleware.context import JobContext
from ojs_aws.worker.executor import ActiveJob, Executor, Failed, Outcome, Snoozed, Succeeded
from ojs_aws.worker.failure import RetryError, SnoozeError
from ojs_aws.worker.registry import HandlerRegistry
from ojs_aws.worker.reservations import WorkerContext
from tests.unit.worker.doubles import job, until


async def stays(_: str) -> bool:
    return True


async def execute(
    function: Callable[..., Any], executed: Job | None = None, middleware: Any = ()
) -> Outcome:
    registry = HandlerRegistry()
    registry.add("a.b", function)
    chain = ExecutionChain(middleware)
    chain.freeze()
    return await Executor(registry, chain).execute(WorkerContext(executed or job(), extend=stays))


def error(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Failed)
    return outcome.error


async def test_mw_exe_011_013_a_handler_gets_the_context_and_then_the_arguments() -> None:
    """MW-EXE-011..013: job, attempt and queue are on the context."""
    seen: list[Any] = []

    async def handle(ctx: JobContext, *args: Any) -> dict[str, int]:
        seen.extend([ctx.job.type, ctx.attempt, ctx.queue, *args])
        return {"n": 1}

    outcome = await execute(handle, job(1, "a.b", "x", {"y": 2}, queue="email"))
    assert outcome == Succeeded('{"n":1}')  # type: ignore[arg-type]
    assert seen == ["a.b", 1, "email", "x", {"y": 2}]


async def test_a_synchronous_handler_runs_in_another_thread() -> None:
    """With the caller's context variables, and without holding up the loop."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("v", default="")
    variable.set("here")

    def handle(ctx: JobContext) -> list[Any]:
        return [threading.current_thread() is threading.main_thread(), variable.get()]

    assert await execute(handle) == Succeeded('[false,"here"]')  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("set_", "returned", "result"),
    [(None, None, None), (1, None, "1"), (1, 2, "2"), (None, False, "false"), (None, [], "[]")],
)
async def test_mw_exe_016_the_return_value_comes_before_set_result(
    set_: Any, returned: Any, result: str | None
) -> None:
    """MW-EXE-016: ``set_result`` counts when the handler returns None."""

    async def handle(ctx: JobContext) -> Any:
        ctx.set_result(set_)
        return returned

    assert await execute(handle) == Succeeded(result)  # type: ignore[arg-type]


async def test_a_result_that_is_not_json_fails_the_job() -> None:
    """Loudly, and not as an empty result."""

    async def handle(ctx: JobContext) -> Any:
        return {1, 2}

    failure = error(await execute(handle))
    assert failure["type"] == "ResultError"
    assert "set" in failure["message"]


async def test_a_generator_is_no_result() -> None:
    def handle(ctx: JobContext) -> Any:
        yield 1

    failure = error(await execute(handle))
    assert failure["message"].startswith("The handler returned what JSON cannot say: result is a")


async def test_an_exception_fails_the_job() -> None:
    """The chain's frames are left out of its backtrace."""

    def handle(ctx: JobContext) -> None:
        raise LookupError("nobody")

    failure = error(await execute(handle))
    assert (failure["type"], failure["message"]) == ("LookupError", "nobody")
    assert all("ojs_aws" not in frame for frame in failure["backtrace"])
    assert "test_executor.py" in failure["backtrace"][0]


class AbortError(BaseException):
    """No Exception, as some libraries end a task."""


@pytest.mark.parametrize(
    "problem", [SystemExit(3), StopIteration("x"), AbortError("x"), GeneratorExit()]
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_not_even_an_exit_of_a_handler_ends_the_worker(
    problem: BaseException, is_async: bool
) -> None:
    """It fails its job, like anything a handler raises."""

    def plain(ctx: JobContext) -> None:
        raise problem

    async def coroutine(ctx: JobContext) -> None:
        raise problem

    assert error(await execute(coroutine if is_async else plain))


async def test_an_interrupt_from_the_keyboard_fails_no_job() -> None:
    async def handle(ctx: JobContext) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(handle).send(None)


@pytest.mark.parametrize("delay", ["10m", 600, 600.0, timedelta(minutes=10), "PT10M"])
async def test_a_snooze_is_no_failure(delay: str | float | timedelta) -> None:
    """Its error says why the job waits, without frames: it may come often."""

    def handle(ctx: JobContext) -> None:
        raise SnoozeError(delay)

    outcome = await execute(handle)
    error: Any = {"type": "SnoozeError", "code": "SNOOZE", "message": "Snoozed for 10m."}
    assert outcome == Snoozed(error, 600_000)


async def test_a_failure_may_name_the_delay_of_its_retry() -> None:
    """RetryError; other errors leave it to the policy."""

    def handle(ctx: JobContext) -> None:
        raise RetryError("busy", delay="90s")

    outcome = await execute(handle)
    assert isinstance(outcome, Failed)
    assert (outcome.delay_ms, outcome.error["code"]) == (90_000, "RETRY")

    def plain(ctx: JobContext) -> None:
        raise RetryError

    outcome = await execute(plain)
    assert isinstance(outcome, Failed)
    assert (outcome.delay_ms, outcome.error["message"]) == (None, "RetryError")


@pytest.mark.parametrize("delay", ["soon", -1, float("nan"), True, None])
def test_a_delay_that_is_none_is_refused(delay: Any) -> None:
    """Where it is written; None means the policy's to RetryError only."""
    with pytest.raises(InvalidRequestError, match="delay"):
        SnoozeError(delay)
    if delay is not None:
        with pytest.raises(InvalidRequestError, match="delay"):
            RetryError(delay=delay)


def test_a_snooze_survives_pickling() -> None:
    """As whoever runs handlers in processes needs it."""
    again = pickle.loads(pickle.dumps(SnoozeError("10m", "closed")))  # noqa: S301 - our own
    assert (str(again), again.delay_ms) == ("closed", 600_000)


async def test_an_unknown_type_fails_without_retry() -> None:
    """The worker has no handler for it."""

    async def handle(ctx: JobContext) -> None: ...

    failure = error(await execute(handle, job(1, "a.c")))
    assert failure["type"] == "NoHandlerRegistered"
    assert failure["retryable"] is False
    assert str(failure["message"]).endswith(
        "The job is discarded. Deploy a worker that has its handler, "
        f"then run: ojs-aws jobs retry {job(1).id}"
    )


async def test_mw_exe_007_middleware_wraps_the_handler_and_its_result_counts() -> None:
    """MW-EXE-002, MW-EXE-007: and may replace its result."""
    order: list[str] = []

    async def outer(job: Job, ctx: JobContext, call_next: Any) -> Any:
        order.append("in")
        result = await call_next()
        order.append("out")
        return {"wrapped": result}

    async def handle(ctx: JobContext) -> int:
        order.append("handler")
        return 1

    assert await execute(handle, middleware=[outer]) == Succeeded('{"wrapped":1}')  # type: ignore[arg-type]
    assert order == ["in", "handler", "out"]


async def test_a_handler_sees_arguments_as_the_middleware_left_them() -> None:
    """Which is how decryption works."""

    async def decrypt(job: Job, ctx: JobContext, call_next: Any) -> Any:
        ctx.job.args[:] = ["plain"]
        return await call_next()

    async def handle(ctx: JobContext, text: str) -> str:
        return text

    assert await execute(handle, job(1, "a.b", "cipher"), [decrypt]) == Succeeded('"plain"')  # type: ignore[arg-type]


async def test_cancelling_interrupts_a_synchronous_handler() -> None:
    """At its next Python instruction, even where it catches Exception; its finally blocks run."""
    started, ended = threading.Event(), threading.Event()

    def handle(ctx: JobContext) -> None:
        started.set()
        try:
            while True:
                with contextlib.suppress(Exception):
                    time.sleep(0.001)
        finally:
            ended.set()

    task = asyncio.ensure_future(execute(handle))
    await until(started.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(ended.is_set)


@pytest.mark.parametrize("is_async", [True, False])
async def test_mw_builtin_010_the_timeout_ends_a_handler(is_async: bool) -> None:
    """MW-BUILTIN-010: at the job's timeout, with the error type ``timeout``."""
    stopped = threading.Event()

    async def wait(ctx: JobContext) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()

    def loop(ctx: JobContext) -> None:
        try:
            while True:
                time.sleep(0.001)
        finally:
            stopped.set()

    outcome = await execute(
        wait if is_async else loop, job(1, "a.b", timeout_ms=50), [TimeoutMiddleware()]
    )
    assert (error(outcome)["type"], error(outcome)["code"]) == ("timeout", "timeout")
    await until(stopped.is_set)


async def test_mw_exe_020_the_origin_of_a_failure_is_reported() -> None:
    """MW-EXE-020: a middleware's own error names the middleware."""

    async def transaction(job: Job, ctx: JobContext, call_next: Any) -> Any:
        await call_next()
        raise ConnectionError("commit")

    async def handle(ctx: JobContext) -> None: ...

    failure = error(await execute(handle, middleware=[transaction]))
    assert failure["details"] == {"origin": "middleware:transaction"}


async def test_mw_exe_015_a_heartbeat_works_in_both_kinds_of_handler() -> None:
    """MW-EXE-015: awaited in an asynchronous one, blocking in a synchronous one."""
    beaten: list[str] = []

    async def extend(job_id: str) -> bool:
        beaten.append(job_id)
        return len(beaten) < 3

    registry, seen = HandlerRegistry(), []

    @registry.handler("a.async")
    async def asynchronous(ctx: JobContext) -> None:
        await ctx.heartbeat()
        seen.append(ctx.is_cancelled)

    @registry.handler("a.sync")
    def synchronous(ctx: JobContext) -> None:
        ctx.heartbeat()  # type: ignore[unused-coroutine]
        seen.append(ctx.is_cancelled)
        ctx.heartbeat()  # type: ignore[unused-coroutine]
        seen.append(ctx.is_cancelled)

    executor = Executor(registry, ExecutionChain())
    for name in ("a.async", "a.sync"):
        assert await executor.execute(WorkerContext(job(1, name), extend=extend)) == Succeeded(None)
    assert seen == [False, False, True]
    assert len(beaten) == 3


@pytest.mark.parametrize(
    ("waits", "middleware"), [(True, ()), (False, ()), (True, (TimeoutMiddleware(),))]
)
async def test_a_handler_that_cancels_its_own_task_has_failed(
    waits: bool, middleware: Sequence[object]
) -> None:
    """Whether or not it waits for something afterwards; the worker did not give it up."""

    async def handle(ctx: JobContext) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if waits:
            await asyncio.sleep(0)

    registry = HandlerRegistry()
    registry.add("a.b", handle)
    active = ActiveJob(WorkerContext(job(1, "a.b"), extend=stays))
    chain = ExecutionChain(middleware)
    chain.freeze()
    outcome = await active.execute(Executor(registry, chain))
    assert outcome is not None
    assert error(outcome)["type"] == "CancelledError"
    assert (active.gone, active.ctx.is_cancelled) == ("", False)


async def test_a_cancelled_error_of_the_handler_s_own_is_a_failure() -> None:
    """Only the worker's cancelling abandons a job."""

    async def handle(ctx: JobContext) -> None:
        raise asyncio.CancelledError("something inside was cancelled")

    assert error(await execute(handle))["type"] == "CancelledError"
