"""The timeout interrupts handlers of every kind, in both workers (section 8.1.3)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import ExecutionChain, JobContext, JobTimeoutError, TimeoutMiddleware
from ojs_aws.worker.executor import Executor, Failed, Outcome, Succeeded
from ojs_aws.worker.registry import HandlerRegistry
from tests.load import HUNG_S
from tests.unit.middleware.doubles import context, job
from tests.unit.worker.doubles import until

SOON = 0.02


async def execute(handler: Callable[..., Any], **options: Any) -> Outcome:
    """Execute a job whose timeout is over soon, as both workers do."""
    registry = HandlerRegistry()
    registry.add("a.b", handler)
    executor = Executor(registry, ExecutionChain([TimeoutMiddleware(SOON, **options)]))
    return await executor.execute(context(job(attempt=1)))


def is_timeout(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.error["type"] == "timeout"


async def test_mw_builtin_010_a_synchronous_handler_in_python_is_interrupted() -> None:
    """At its next instruction; ``except Exception`` does not keep it going."""
    ended = threading.Event()

    def busy(ctx: JobContext) -> None:
        try:
            while True:
                with suppress(Exception):
                    sum(range(100))
        finally:
            ended.set()

    assert is_timeout(await execute(busy))
    await until(ended.is_set)


async def test_mw_builtin_010_a_handler_in_a_system_call_is_reported() -> None:
    """At once; the thread is interrupted when the call returns, before the next line."""
    entered, went_on, ended = threading.Event(), threading.Event(), threading.Event()
    release = threading.Event()

    def blocked(ctx: JobContext) -> None:
        try:
            entered.set()
            release.wait(HUNG_S)
            went_on.set()
        finally:
            ended.set()

    assert is_timeout(await execute(blocked))
    assert entered.is_set()
    assert not ended.is_set()
    release.set()
    await until(ended.is_set)
    assert not went_on.is_set()


async def test_mw_builtin_010_a_chain_alone_interrupts_synchronous_handlers_too() -> None:
    """Without a worker around it: the chain itself runs them in threads, where it has a timeout."""
    ended = threading.Event()

    def busy(job: Job, ctx: JobContext) -> None:
        try:
            while True:
                sum(range(100))
        finally:
            ended.set()

    with pytest.raises(JobTimeoutError):
        await ExecutionChain([TimeoutMiddleware(SOON)]).run(job(), context(), busy)
    await until(ended.is_set)


async def test_a_handler_in_a_thread_has_the_context_variables() -> None:
    """And what it raises; one that gives an awaitable is waited for in the loop."""
    chain = ExecutionChain([TimeoutMiddleware()])
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("kept")
    assert await chain.run(job(), context(), lambda *_: variable.get()) == "kept"
    assert await chain.run(job(), context(), lambda *_: asyncio.sleep(0, "waited")) == "waited"
    with pytest.raises(ZeroDivisionError):
        await chain.run(job(), context(), lambda *_: 1 // 0)


async def test_the_error_says_whether_the_environment_set_the_limit() -> None:
    ctx = context(deadline=time.monotonic() + SOON)

    async def long(job: Job, ctx: JobContext) -> None:
        await asyncio.sleep(60)

    with pytest.raises(JobTimeoutError, match="environment"):
        await ExecutionChain([TimeoutMiddleware()]).run(job(), ctx, long)


async def test_mw_builtin_010_a_handler_that_ignores_cancellation_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The job fails after the grace period; the task is cancelled until it gives in."""
    cancellations: list[int] = []

    async def deaf(ctx: JobContext) -> None:
        while len(cancellations) < 4:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancellations.append(1)

    assert is_timeout(await execute(deaf, grace_s=0.01))
    assert "ignores its cancellation" in caplog.text
    assert len(cancellations) < 4
    await until(lambda: len(cancellations) == 4)


async def test_timeouts_of_the_handler_s_own_are_not_taken_for_the_job_s() -> None:
    """Neither handled inside, nor raised."""

    async def handled(ctx: JobContext) -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "went on"
        return "never"

    async def raised(ctx: JobContext) -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    assert await execute(handled) == Succeeded('"went on"')  # type: ignore[arg-type]
    failed = await execute(raised)
    assert isinstance(failed, Failed)
    assert failed.error["type"] == "TimeoutError"


@pytest.mark.parametrize("problem", [SystemExit(3), asyncio.CancelledError(), OSError("no")])
async def test_what_the_handler_raises_passes_as_it_is(problem: BaseException) -> None:
    """An exit must not end the worker's loop; the very object comes out."""
    ctx = context()

    async def raising(*_: object) -> None:
        raise problem

    with pytest.raises(type(problem)) as raised:
        await ExecutionChain([TimeoutMiddleware()]).run(job(), ctx, raising)
    assert raised.value is problem
    assert ctx.failure_origin(problem) == "handler"


async def test_a_job_that_is_given_up_is_cancelled_inside_and_no_timeout() -> None:
    """The handler cleans up before the worker goes on."""
    cleaned: list[bool] = []

    async def endless(*_: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    chain = ExecutionChain([TimeoutMiddleware()])
    work = asyncio.ensure_future(chain.run(job(), context(), endless))
    await asyncio.sleep(0.001)
    work.cancel()
    await asyncio.wait({work})
    assert work.cancelled()
    assert cleaned == [True]


async def test_fifty_jobs_time_out_side_by_side() -> None:
    """Each with its own time, after which the next ones run as ever."""
    chain = ExecutionChain([TimeoutMiddleware(60)])

    async def waiting(executed: Job, ctx: JobContext) -> str:
        await asyncio.sleep(0.1 if executed.timeout == 0.02 else 0)
        return "done"

    async def one(n: int) -> object:
        executed = job(timeout_ms=20 if n % 2 else 60_000)
        return await chain.run(executed, context(executed), waiting)

    outcomes = await asyncio.gather(*map(one, range(50)), return_exceptions=True)
    assert outcomes[::2] == ["done"] * 25
    assert all(isinstance(outcome, JobTimeoutError) for outcome in outcomes[1::2])


@pytest.mark.parametrize("name", ["default_s", "grace_s"])
def test_numbers_must_be_positive(name: str) -> None:
    """When the middleware is made."""
    options: dict[str, Any] = {name: 0}
    with pytest.raises(ValueError, match="must be positive"):
        TimeoutMiddleware(**options)
