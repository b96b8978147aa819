"""Whatever middleware do, in any order: no job is stored or executed twice, none is lied about.

The jobs of an example pass one chain, one after the other and then at the same time, so that what
one of them leaves behind would be found by the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import EnqueueChain, ExecutionChain, JobContext, MiddlewareError

LAYERS: Final = 4
Next = Callable[..., Awaitable[Any]]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class AnyError(Exception):
    """What a middleware, a handler or a store raises."""


async def _raises(*_: Any) -> Any:
    raise AnyError("before")


async def _raises_late(going: Next, *_: Any) -> Any:
    await going()
    raise AnyError("after")


async def _swallows(going: Next, *_: Any) -> Any:
    try:
        return await going()
    except Exception:  # noqa: BLE001
        return None


async def _goes_on_twice(going: Next, *_: Any) -> Any:
    result = await going()
    await going()
    return result


async def _forgets_to_wait(going: Next, _: list[Any], job: Job) -> Any:
    waiting: Any = going()
    waiting.close()
    return job


async def _leaves_a_task(going: Next, left: list[Any], job: Job) -> Any:
    left.append(asyncio.ensure_future(going()))
    await asyncio.sleep(0)
    return job


async def _goes_on_in_a_task(going: Next, *_: Any) -> Any:
    return await asyncio.ensure_future(going())


BEHAVIOURS: Final[dict[str, Callable[..., Awaitable[Any]]]] = {
    "passes": lambda going, *_: going(),
    "ends": lambda *_: asyncio.sleep(0),
    "returns the job": lambda _, __, job: asyncio.sleep(0, job),
    "forges": lambda going, _, job: going(job.copy(id="other")),
    "raises": _raises,
    "raises late": _raises_late,
    "swallows": _swallows,
    "goes on twice": _goes_on_twice,
    "forgets to wait": _forgets_to_wait,
    "leaves a task": _leaves_a_task,
    "goes on in a task": _goes_on_in_a_task,
}
DONE: Final = st.lists(st.sampled_from([*BEHAVIOURS]), min_size=LAYERS, max_size=LAYERS)
PLANS: Final = st.lists(st.tuples(DONE, st.booleans()), min_size=1, max_size=5)
"""For each job what each layer does, and whether what is innermost fails."""

Plans = list[tuple[list[str], bool]]


def enqueuing(position: int, plans: Plans, left: list[Any]) -> Callable[..., Any]:
    async def layer(job: Job, call_next: Next) -> Any:
        behave = BEHAVIOURS[plans[int(job.id)][0][position]]
        return await behave(lambda changed=job: call_next(changed), left, job)

    return layer


def executing(position: int, plans: Plans, left: list[Any]) -> Callable[..., Any]:
    async def layer(job: Job, ctx: JobContext, call_next: Next) -> Any:
        behave = BEHAVIOURS[plans[int(job.id)][0][position]]
        return await behave(lambda *_: call_next(), left, job)

    return layer


@given(PLANS)
@settings(max_examples=200, deadline=None)
def test_an_enqueueing_is_what_its_outcome_says(plans: Plans) -> None:
    """A job is stored exactly if one is returned or an error names it; None has a name."""
    left: list[Any] = []
    chain = EnqueueChain(enqueuing(position, plans, left) for position in range(LAYERS))

    async def one(number: int) -> None:
        job, stored = Job("a.b", id=str(number)), list[str]()
        is_failing = plans[number][1]

        async def store(final: Job) -> Job:
            await asyncio.sleep(0)
            if is_failing:
                raise AnyError("store")
            stored.append(final.id)
            return final

        try:
            result, dropped_by = await chain.run_tracked(job, store)
        except (AnyError, MiddlewareError) as problem:
            named = getattr(problem, "stored_job_ids", None) or ()
            assert "leaves a task" in plans[number][0] or [*named] == stored
        else:
            assert [result.id if result else ""] == (stored or [""])
            assert bool(dropped_by) == (result is None)
        assert stored in ([], [job.id])

    asyncio.run(_all(one, len(plans), left))


@given(PLANS)
@settings(max_examples=200, deadline=None)
def test_an_execution_calls_its_own_handler_once_at_most(plans: Plans) -> None:
    """Each failure says whose error it was."""
    left: list[Any] = []
    chain = ExecutionChain(executing(position, plans, left) for position in range(LAYERS))

    async def one(number: int) -> None:
        job, calls, origins = Job("a.b", id=str(number)), list[str](), list[bool]()
        ctx = JobContext(job)

        async def handler(executed: Job, _: JobContext) -> str:
            calls.append(executed.id)
            await asyncio.sleep(0)
            if plans[number][1]:
                raise AnyError("handler")
            return "done"

        try:
            await chain.run(job, ctx, handler)
        except (AnyError, MiddlewareError) as problem:
            origin = ctx.failure_origin(problem)
            origins.append(
                origin == "handler" if str(problem) == "handler" else origin != "handler"
            )
        assert calls in ([], [job.id])
        assert all(origins)

    asyncio.run(_all(one, len(plans), left))


async def _all(one: Callable[[int], Awaitable[None]], count: int, left: list[Any]) -> None:
    for number in range(count):
        await one(number)
    await asyncio.gather(*map(one, range(count)))
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
