"""check() finds what an object implements, and what it only seems to."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import Mock

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    EnqueueChain,
    EnqueueMiddleware,
    ExecutionChain,
    ExecutionMiddleware,
    Extensions,
    InvalidMiddlewareError,
    JobContext,
    MiddlewareDefaults,
    MiddlewareWarning,
    check,
    hook,
)
from ojs_aws.middleware.protocols import BatchMiddleware, BatchNext, EnqueueNext, ExecutionNext
from tests.unit.middleware.doubles import context, job, store


class Everywhere:
    """One class for both chains, batches and hooks (RIVER-002, RIVER-018)."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        self.calls.append("enqueue")
        return await call_next(job)

    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
        self.calls.append("enqueue_many")
        return await call_next(jobs)

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        self.calls.append("execute")
        return await call_next()

    def work_begin(self, job: Job, ctx: JobContext) -> None:
        self.calls.append("work_begin")


class ForEnqueueing:
    async def call(self, job: Job, call_next: EnqueueNext) -> Job | None:
        return await call_next(job)


class ForExecution:
    async def call(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        return await call_next()


class ForBatches:
    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> Any:
        return await call_next(jobs)


def test_river_010_the_protocols_are_checked_by_a_type_checker() -> None:
    """These assignments are checked by mypy; a misspelt method would fail `make types`."""
    enqueueing: EnqueueMiddleware = ForEnqueueing()
    execution: ExecutionMiddleware = ForExecution()
    batches: BatchMiddleware = ForBatches()
    assert check(enqueueing).implements == ("enqueue",)
    assert check(execution).implements == ("execute",)
    assert check(batches).implements == ("enqueue_many",)


def test_it_names_everything_that_an_object_implements() -> None:
    found = check(Everywhere())
    assert found
    assert found.implements == ("enqueue", "enqueue_many", "execute", "work_begin")


def test_the_parameters_of_a_function_decide_its_interface() -> None:
    async def two(job: Job, call_next: Any) -> Any: ...

    async def three(job: Job, ctx: JobContext, call_next: Any) -> Any: ...

    @hook
    def insert_begin(job: Job) -> None: ...

    assert check(two).implements == ("enqueue",)
    assert check(three).implements == ("execute",)
    assert check(insert_begin).implements == ("insert_begin",)
    assert not check(lambda: None)


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("enque", "enqueue"),
        ("enqueue_batch", "enqueue_many"),
        ("insertmany", "enqueue_many"),
        ("insert_many", "enqueue_many"),
        ("enqueueMany", "enqueue_many"),
        ("work", "execute"),
        ("excecute", "execute"),
        ("on_work_begin", "work_begin"),
        ("retry_schedule", "retry_scheduled"),
    ],
)
def test_river_010_a_misspelt_method_is_found(method: str, meant: str) -> None:
    """RIVER-010: warned of beside a good one, and refused where it is all there is."""

    async def never(self: object, *given: object) -> None: ...

    lone = type("Lone", (), {method: never})()
    [problem] = check(lone).problems
    assert f"was {meant}(" in problem
    with pytest.raises(InvalidMiddlewareError, match=f"{method}.. is never called"):
        EnqueueChain([lone])
    beside = type("Beside", (ForEnqueueing,), {method: never})()
    if meant != "enqueue":
        with pytest.warns(MiddlewareWarning, match=f"{method}.. is never called"):
            EnqueueChain([beside])


def test_river_010_a_wrong_signature_is_found() -> None:
    class Wrong:
        async def enqueue_many(self, jobs: list[Job]) -> None: ...

        async def call(self, job: Job) -> None: ...

        def work_begin(self, job: Job) -> None: ...

    problems = check(Wrong()).problems
    assert any(p.startswith("enqueue_many(jobs") for p in problems)
    assert any("neither call(job, call_next) nor" in p for p in problems)
    assert any(p.startswith("work_begin(job") for p in problems)
    with pytest.raises(InvalidMiddlewareError, match="cannot be called as"):
        EnqueueChain([Wrong()])


def test_a_generator_is_found() -> None:
    class Generator:
        async def call(self, job: Job, ctx: JobContext, call_next: Any) -> AsyncIterator[object]:
            yield await call_next()

    with pytest.raises(InvalidMiddlewareError, match="generator"):
        ExecutionChain([Generator])


def test_river_011_a_base_with_nothing_overridden_is_registered() -> None:
    """It does nothing yet, and nothing is paid for it."""

    class Nothing(MiddlewareDefaults): ...

    assert EnqueueChain([Nothing]).names() == ["nothing"]
    assert ExecutionChain([Nothing()]).names() == ["nothing"]


def test_an_object_s_other_methods_are_its_own() -> None:
    """No warning for names that only share a word."""

    class Mine(ForEnqueueing):
        def close(self) -> None: ...

        def reset_metrics(self) -> None: ...

        def worker_name(self) -> None: ...

        name = "mine"

    assert check(Mine()).problems == ()


# ---------------------------------------------------------------------- registered once
async def test_river_002_one_registration_reaches_both_chains_and_the_hooks() -> None:
    everywhere = Everywhere()
    extensions = Extensions([everywhere], defaults=False)
    await extensions.enqueuing.run(job(), store)
    await extensions.execution.run(job(), context(), lambda *_: 1)
    await extensions.hooks.work_begin(job(), context())
    assert everywhere.calls == ["enqueue", "execute", "work_begin"]


def test_extensions_keep_the_defaults_around_and_the_timeout_innermost() -> None:
    """Section 8.2, with the user's own in between."""
    extensions = Extensions([Everywhere])
    assert extensions.enqueuing.names()[-1] == "everywhere"
    assert extensions.execution.names()[-2:] == ["everywhere", "timeout"]
    with pytest.raises(InvalidMiddlewareError):
        Extensions([object()])


def test_a_decorator_that_supplies_an_argument_is_judged_by_what_is_called() -> None:
    """functools.wraps shows the signature of what it wraps, and that one is never called."""

    async def limited(job: object, call_next: object, limit: int) -> object:
        return None

    @functools.wraps(limited)
    async def supplied(job: object, call_next: object) -> object:
        return await limited(job, call_next, 3)

    assert check(supplied).problems == ()
    assert EnqueueChain([supplied]).names() == ["limited"]


def test_an_object_that_answers_to_every_name_is_no_marked_hook() -> None:
    assert "enqueue" in check(Mock()).implements


def test_a_partial_is_named_after_its_function() -> None:
    async def limited(limit: int, job: object, call_next: object) -> object:
        return None

    assert EnqueueChain([functools.partial(limited, 3)]).names() == ["limited"]
