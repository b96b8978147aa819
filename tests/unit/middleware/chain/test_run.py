"""Each job has steps of its own: nothing of one job may reach another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import EnqueueChain, ExecutionChain, JobContext, NextCalledTwiceError
from tests.unit.middleware.doubles import context, job, store


async def passes(job: Job, ctx: JobContext, call_next: Callable[[], Awaitable[object]]) -> object:
    return await call_next()


async def test_a_kept_call_next_is_never_used_for_another_job() -> None:
    """It stays refused for ever, and can reach no other job's handler."""
    kept: list[Any] = []
    ran: list[str] = []

    async def keeps(job: Job, ctx: JobContext, call_next: Any) -> Any:
        kept.append(call_next)
        return await call_next()

    chain = ExecutionChain([keeps])
    for name in ("first", "second"):
        await chain.run(job(name), context(), lambda given, _: ran.append(str(given.args[0])))
    assert kept[0] is not kept[1]
    for call_next in kept:
        with pytest.raises(NextCalledTwiceError):
            call_next()
    assert ran == ["first", "second"]


async def test_a_coroutine_of_call_next_that_is_started_too_late_does_nothing() -> None:
    """Its middleware was refused already; the handler must not run after that."""
    late: list[Any] = []
    ran: list[str] = []

    async def forgets(job: Job, ctx: JobContext, call_next: Any) -> Any:
        late.append(call_next())

    chain = ExecutionChain([forgets])
    with pytest.raises(RuntimeError, match="await call_next"):
        await chain.run(job(), context(), lambda *_: ran.append("handler"))
    with pytest.raises(RuntimeError, match="already awaited"):
        await late[0]
    assert ran == []


async def test_what_runs_on_behind_a_middleware_stays_with_its_own_job() -> None:
    """A middleware gave up waiting, and the next job runs at the same time."""
    release = asyncio.Event()
    tasks: list[asyncio.Task[Any]] = []
    seen: list[str] = []

    async def gives_up(job: Job, ctx: JobContext, call_next: Any) -> Any:
        tasks.append(asyncio.create_task(call_next()))
        await asyncio.sleep(0)

    async def handler(job: Job, ctx: JobContext) -> None:
        name = job.args[0]
        await release.wait()
        seen.append(f"{name} {ctx.job.args[0]}")

    chain = ExecutionChain([gives_up, passes])
    for name in ("a", "b"):
        with pytest.raises(RuntimeError, match="await call_next"):
            await chain.run(job(name), context(job(name)), handler)
    release.set()
    await asyncio.gather(*tasks)
    assert seen == ["a a", "b b"]


async def test_mw_chain_027_a_failed_job_leaves_nothing_to_the_next_one() -> None:
    """MW-CHAIN-027: neither its error nor its state."""

    async def handler(given: Job, _: JobContext) -> object:
        if given.args == ["bad"]:
            raise ValueError("bad")
        return given.args[0]

    chain = ExecutionChain([passes, passes])
    for _ in range(3):
        with pytest.raises(ValueError, match="bad"):
            await chain.run(job("bad"), context(), handler)
        assert await chain.run(job("good"), context(), handler) == "good"


async def test_mw_chain_026_fifty_jobs_at_once_do_not_meet() -> None:
    """MW-CHAIN-026: tasks that suspend in every layer, through one chain of each kind."""

    async def suspends(job: Job, ctx: JobContext, call_next: Any) -> Any:
        ctx.metadata["before"] = job.args[0]
        await asyncio.sleep(0)
        result = await call_next()
        await asyncio.sleep(0)
        return [ctx.metadata["before"], job.args[0], result]

    async def stamps(job: Job, call_next: Any) -> Any:
        job.meta["n"] = job.args[0]
        await asyncio.sleep(0)
        return await call_next(job)

    execution, enqueuing = ExecutionChain([suspends, passes]), EnqueueChain([stamps, stamps])

    async def one(n: int) -> None:
        given = job(n)
        assert await execution.run(given, context(given), lambda j, _: j.args[0]) == [n, n, n]
        stored = await enqueuing.run(given, store)
        assert stored is not None
        assert stored.meta == {"n": n}

    for _ in range(2):
        await asyncio.gather(*(one(n) for n in range(50)))


async def test_empty_chains_freeze_too() -> None:
    """MW-CHAIN-010, MW-CHAIN-023."""
    chain = ExecutionChain()
    await chain.run(job(), context(), lambda *_: 1)
    assert chain.is_frozen
