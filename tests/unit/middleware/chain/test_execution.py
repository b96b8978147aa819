"""The execution chain: an onion around the handler, and what becomes of errors."""

from __future__ import annotations

import asyncio
import contextvars
import warnings
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    ExecutionChain,
    JobContext,
    MiddlewareError,
    NextCalledTwiceError,
    SuppressedErrorWarning,
)
from tests.unit.middleware.doubles import Traced, context, job


async def passes(job: Job, ctx: JobContext, call_next: Any) -> Any:
    return await call_next()


async def fails(job: Job, ctx: JobContext) -> None:
    raise ValueError("the handler's")


async def test_mw_chain_023_an_empty_chain_calls_the_handler() -> None:
    """MW-CHAIN-023: with job and context; synchronous or not."""
    given, ctx = job(), context()

    async def coroutine(*got: object) -> object:
        return got

    assert await ExecutionChain().run(given, ctx, coroutine) == (given, ctx)
    assert await ExecutionChain().run(given, ctx, lambda *got: got) == (given, ctx)


async def test_appendix_a_execution_nests_around_the_handler() -> None:
    """MW-EXE-001, MW-EXE-002, RIVER-007: the first is the outermost."""
    trace: list[str] = []
    chain = ExecutionChain([Traced(trace, "A"), Traced(trace, "B")])
    await chain.run(job(), context(), lambda *_: trace.append("handler"))
    assert trace == ["A-in", "B-in", "handler", "B-out", "A-out"]


async def test_mw_exe_003_a_class_with_call_is_a_middleware() -> None:
    """MW-EXE-003, MW-CHAIN-025: with exactly the signature of section 11.1."""

    class Doubling:
        async def call(self, job: Job, ctx: JobContext, call_next: Any) -> Any:
            return 2 * await call_next()

    assert await ExecutionChain([Doubling, Doubling()]).run(job(), context(), lambda *_: 3) == 12


async def test_a_synchronous_middleware_may_return_what_call_next_gives() -> None:
    """It acts before the handler; to act afterwards it has to be ``async def``."""

    def before(job: Job, ctx: JobContext, call_next: Any) -> Any:
        ctx.metadata["before"] = True
        return call_next()

    async def handler(job: Job, ctx: JobContext) -> object:
        return ctx.metadata["before"]

    assert await ExecutionChain([before]).run(job(), context(), handler) is True


async def test_mw_exe_007_the_result_passes_back_and_each_layer_may_replace_it() -> None:
    """MW-EXE-007."""

    async def wraps(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return {"wrapped": await call_next()}

    result = await ExecutionChain([wraps, passes]).run(job(), context(), lambda *_: 1)
    assert result == {"wrapped": 1}


async def test_mw_exe_005_not_calling_next_short_circuits() -> None:
    """MW-EXE-005: the handler never runs, and the middleware's value is the result."""
    ran: list[str] = []

    async def breaker(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return {"skipped": True}

    chain = ExecutionChain([breaker, Traced(ran, "inner")])
    result = await chain.run(job(), context(), lambda *_: ran.append("handler"))
    assert (result, ran) == ({"skipped": True}, [])


@pytest.mark.parametrize("together", [True, False])
async def test_mw_exe_006_call_next_runs_the_handler_at_most_once(together: bool) -> None:
    """MW-EXE-004, MW-EXE-006: one call after the other, or both at once."""
    ran: list[str] = []

    async def twice(job: Job, ctx: JobContext, call_next: Any) -> Any:
        first = asyncio.ensure_future(call_next())
        if not together:
            await first
        try:
            await call_next()
        finally:
            await first

    with pytest.raises(NextCalledTwiceError, match="'twice'") as raised:
        await ExecutionChain([twice]).run(job(), context(), lambda *_: ran.append("handler"))
    assert isinstance(raised.value, MiddlewareError)
    assert ran == ["handler"]


async def test_appendix_a_execution_errors_propagate_outward_through_every_layer() -> None:
    """MW-EXE-008, MW-EXE-009: and reach whoever runs the chain, the very same object."""
    trace: list[str] = []
    problem = ConnectionError("SMTP")

    def handler(*_: object) -> None:
        raise problem

    with pytest.raises(ConnectionError) as raised:
        await ExecutionChain([Traced(trace, "A"), Traced(trace, "B")]).run(
            job(), context(), handler
        )
    assert raised.value is problem
    assert trace == ["A-in", "B-in", "B-out", "A-out"]


async def test_mw_exe_024_an_error_before_next_keeps_the_rest_from_running() -> None:
    """MW-EXE-019, MW-EXE-024: outer layers see it."""
    trace: list[str] = []

    async def broken(job: Job, ctx: JobContext, call_next: Any) -> Any:
        raise OSError("metrics backend")

    chain = ExecutionChain([Traced(trace, "outer"), broken, Traced(trace, "inner")])
    with pytest.raises(OSError, match="metrics"):
        await chain.run(job(), context(), lambda *_: trace.append("handler"))
    assert trace == ["outer-in", "outer-out"]


async def test_river_006_an_error_after_next_fails_the_job_all_the_same() -> None:
    """RIVER-006."""

    async def late(job: Job, ctx: JobContext, call_next: Any) -> Any:
        await call_next()
        raise OSError("commit")

    ctx = context()
    with pytest.raises(OSError, match="commit") as raised:
        await ExecutionChain([late]).run(job(), ctx, lambda *_: 1)
    assert ctx.failure_origin(raised.value) == "middleware:late"


async def test_mw_exe_020_errors_of_handler_and_middleware_differ() -> None:
    """MW-EXE-020: also through layers that catch and raise again."""

    async def raises_again(job: Job, ctx: JobContext, call_next: Any) -> Any:
        try:
            return await call_next()
        except Exception as problem:
            raise problem from None

    async def broken(job: Job, ctx: JobContext, call_next: Any) -> Any:
        raise ValueError("the middleware's")

    for members, origin in (
        ([passes, raises_again], "handler"),
        ([passes, raises_again, broken], "middleware:broken"),
    ):
        ctx = context()
        with pytest.raises(ValueError, match=r"'s") as raised:
            await ExecutionChain(members).run(job(), ctx, fails)
        assert ctx.failure_origin(raised.value) == origin


async def test_mw_exe_010_a_transformed_error_is_the_middleware_s() -> None:
    """MW-EXE-010: the handler's stays its cause."""

    async def transforms(job: Job, ctx: JobContext, call_next: Any) -> Any:
        try:
            return await call_next()
        except ValueError as problem:
            raise LookupError("mine") from problem

    ctx = context()
    with pytest.raises(LookupError) as raised:
        await ExecutionChain([passes, transforms]).run(job(), ctx, fails)
    assert ctx.failure_origin(raised.value) == "middleware:transforms"
    assert isinstance(raised.value.__cause__, ValueError)


async def swallows(job: Job, ctx: JobContext, call_next: Any) -> Any:
    try:
        return await call_next()
    except ValueError:
        return "fallback"


async def test_mw_exe_023_a_suppressed_error_completes_the_job_with_a_warning() -> None:
    """MW-EXE-021, MW-EXE-023, MW-EXE-025: the warning names the layer that did it."""
    with pytest.warns(SuppressedErrorWarning, match="'swallows' swallowed ValueError"):
        result = await ExecutionChain([passes, swallows, passes]).run(job(), context(), fails)
    assert result == "fallback"


async def test_mw_exe_021_an_error_marked_as_handled_is_no_surprise() -> None:
    """MW-EXE-021: no warning then."""

    async def handles(job: Job, ctx: JobContext, call_next: Any) -> Any:
        try:
            return await call_next()
        except ValueError as problem:
            ctx.mark_handled(problem)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert await ExecutionChain([handles]).run(job(), context(), fails) is None


async def test_river_020_context_variables_set_by_middleware_reach_the_handler() -> None:
    """RIVER-020."""
    locale: contextvars.ContextVar[str] = contextvars.ContextVar("locale", default="")

    async def propagates(job: Job, ctx: JobContext, call_next: Any) -> Any:
        token = locale.set("de")
        try:
            return await call_next()
        finally:
            locale.reset(token)

    result = await ExecutionChain([propagates]).run(job(), context(), lambda *_: locale.get())
    assert (result, locale.get()) == ("de", "")


async def test_mw_chain_027_jobs_that_run_together_do_not_meet() -> None:
    """MW-CHAIN-026..028: 50 jobs at once through the same instances, twice."""

    async def numbers(job: Job, ctx: JobContext, call_next: Any) -> Any:
        ctx.metadata["n"] = job.args[0]
        await asyncio.sleep(0)
        return [ctx.metadata["n"], await call_next()]

    async def handler(job: Job, ctx: JobContext) -> object:
        await asyncio.sleep(0)
        return ctx.metadata["n"]

    chain = ExecutionChain([passes, numbers])
    for _ in range(2):
        given = [job(n) for n in range(50)]
        runs = (chain.run(one, context(one), handler) for one in given)
        assert await asyncio.gather(*runs) == [[n, n] for n in range(50)]
