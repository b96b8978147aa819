"""Hooks: called at their moment, in order, and gone again."""

from __future__ import annotations

import asyncio
import contextvars
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from ojs_aws.client import Client
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import RawJson
from ojs_aws.middleware import (
    EnqueueChain,
    ExecutionChain,
    HookDefaults,
    HookEvent,
    Hooks,
    IdChangedError,
    InvalidMiddlewareError,
    JobContext,
    Metric,
    MetricsMiddleware,
    WorkOutcome,
    hook,
)
from ojs_aws.worker.executor import Executor, Failed, Outcome, Succeeded
from ojs_aws.worker.registry import HandlerRegistry
from tests.unit.middleware.doubles import (
    FakeTransport,
    client_with,
    context,
    enqueue_sync,
    job,
    store,
)


def client_of(*hooks: object, middleware: Sequence[object] = ()) -> tuple[Client, FakeTransport]:
    transport = FakeTransport()
    return client_with(transport, middleware=middleware, hooks=hooks), transport


async def execute(hooks: Hooks, function: Any, given: Job | None = None) -> Outcome:
    registry = HandlerRegistry()
    registry.handler("a.b")(function)
    executor = Executor(registry, ExecutionChain(), hooks)
    return await executor.execute(context(given))


class Log(HookDefaults):
    """One class, several hooks (RIVER-018)."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def insert_begin(self, job: Job) -> None:
        self.calls.append(f"begin {job.type}")

    def insert_end(self, job: Job, error: Exception | None) -> None:
        self.calls.append(f"end {job.type} {type(error).__name__}")

    def work_begin(self, job: Job, ctx: JobContext) -> None:
        self.calls.append("work")

    def work_end(self, job: Job, ctx: JobContext, outcome: WorkOutcome) -> None:
        self.calls.append(f"done {outcome.result} {type(outcome.error).__name__}")


# ---------------------------------------------------------------------- insertion
async def test_river_014_insert_begin_is_called_for_each_job_of_a_batch() -> None:
    log = Log()
    client, transport = client_of(log)
    await client.enqueue_many([Job("a.b", [n]) for n in range(10)])
    assert log.calls.count("begin a.b") == 10
    assert log.calls[10:] == ["end a.b NoneType"] * 10, "each ends when the batch is stored"
    assert len(transport.batches) == 1


async def test_river_019_a_hook_that_raises_aborts_that_insertion_alone() -> None:
    @hook
    def insert_begin(job: Job) -> None:
        if job.args == [1]:
            raise ValueError("not this one")

    client, transport = client_of(insert_begin)
    with pytest.raises(ValueError, match="not this one"):
        await client.enqueue("a.b", [1])
    results = await client.enqueue_many([Job("a.b", [n]) for n in range(3)])
    assert [result.is_enqueued for result in results] == [True, False, True]
    assert [len(batch) for batch in transport.batches] == [2]


async def test_a_hook_may_change_the_job_before_it_is_stored() -> None:
    """In place, or by returning another one with the same id; after the whole chain."""

    async def chain_member(job: Job, call_next: Any) -> Any:
        job.meta["by"] = "middleware"
        return await call_next(job)

    @hook("insert_begin")
    def stamps(job: Job) -> None:
        assert job.meta["by"] == "middleware"
        job.meta["by"] = "hook"

    @hook("insert_begin")
    def reroutes(job: Job) -> Job:
        return job.copy(queue="other")

    client, transport = client_of(stamps, reroutes, middleware=[chain_member])
    await client.enqueue("a.b")
    [sent] = transport.pushed
    assert (sent.meta["by"], sent.queue) == ("hook", "other")


async def test_a_hook_must_leave_the_id() -> None:
    """MW-ENQ-012 holds for hooks too."""

    @hook("insert_begin")
    def forges(job: Job) -> Job:
        return job.copy(id="01900000-0000-7000-8000-00000000ffff")

    client, transport = client_of(forges)
    with pytest.raises(IdChangedError, match="forges"):
        await client.enqueue("a.b")
    assert transport.pushed == []


async def test_an_insert_end_that_raises_names_the_stored_job() -> None:
    """RIVER-005: the insertion failed for the caller, and the job is there."""

    @hook
    def insert_end(job: Job, error: Exception | None) -> None:
        raise OSError("audit is down")

    client, transport = client_of(insert_end)
    with pytest.raises(OSError, match="audit") as raised:
        await client.enqueue("a.b")
    assert raised.value.stored_job_ids == (transport.pushed[0].id,)  # type: ignore[attr-defined]


def test_synchronous_hooks_need_no_event_loop() -> None:
    """PUSH runs without one; an asynchronous hook brings it along."""
    seen: list[bool] = []

    @hook("insert_begin")
    def plain(job: Job) -> None:
        seen.append(asyncio._get_running_loop() is None)

    @hook("insert_begin")
    async def waits(job: Job) -> None:
        await asyncio.sleep(0)
        seen.append(asyncio._get_running_loop() is None)

    for hooks in (Hooks([plain]), Hooks([waits])):
        assert enqueue_sync(EnqueueChain(), job(), store, hooks)[0] is not None
    assert seen == [True, False]


# ---------------------------------------------------------------------- execution
async def test_river_013_hooks_run_before_and_after_the_handler() -> None:
    log = Log()

    async def handler(ctx: JobContext) -> str:
        log.calls.append("handler")
        return "fine"

    await execute(Hooks([log]), handler)
    assert log.calls == ["work", "handler", "done fine NoneType"]


async def test_river_013_hooks_take_no_frame_in_the_traceback() -> None:
    """RIVER-013."""
    frames: list[str] = []

    class Looks(Log):
        def work_end(self, job: Job, ctx: JobContext, outcome: WorkOutcome) -> None:
            assert outcome.error is not None
            frames.extend(f.name for f in traceback.extract_tb(outcome.error.__traceback__))

    async def fails(ctx: JobContext) -> None:
        raise ValueError("mine")

    outcome = await execute(Hooks([Looks()]), fails)
    assert isinstance(outcome, Failed)
    assert not {"work_begin", "insert_begin"} & {*frames}
    lines = outcome.error["backtrace"]
    assert isinstance(lines, list)
    assert len(lines) == 2
    assert "left out" in str(lines[1])


async def test_river_019_a_work_begin_that_raises_fails_the_job() -> None:
    """The handler does not run, and the error object says whose error it was (MW-EXE-020)."""
    ran: list[str] = []

    @hook
    def work_begin(job: Job, ctx: JobContext) -> None:
        raise PermissionError("closed")

    async def handler(ctx: JobContext) -> None:
        ran.append("handler")

    outcome = await execute(Hooks([work_begin]), handler)
    assert isinstance(outcome, Failed)
    assert (outcome.error["type"], ran) == ("PermissionError", [])
    assert outcome.error["details"] == {"origin": "hook:work_begin"}


@pytest.mark.parametrize("returned", [{"type": "a.b"}, "a.b", True, 0])
async def test_a_hook_that_returns_no_job_is_refused_and_nothing_stored(returned: Any) -> None:
    """It meant to change the job, and its change would be lost without a word."""

    @hook
    def insert_begin(job: Job) -> Any:
        return returned

    client, transport = client_of(insert_begin)
    with pytest.raises(InvalidMiddlewareError, match=r"'insert_begin' returned a \w+ from"):
        await client.enqueue("a.b")
    assert transport.pushed == []


async def test_a_hook_that_returns_no_outcome_fails_the_execution() -> None:
    """As one that raises does."""

    @hook
    def work_end(job: Job, ctx: JobContext, outcome: WorkOutcome) -> Any:
        return {"result": 1}

    async def fine(ctx: JobContext) -> str:
        return "fine"

    outcome = await execute(Hooks([work_end]), fine)
    assert isinstance(outcome, Failed)
    assert "return a WorkOutcome, or None" in str(outcome.error["message"])


async def test_work_end_may_change_the_outcome_both_ways() -> None:
    """A failure into a success, and a success into a failure."""

    @hook
    def work_end(job: Job, ctx: JobContext, outcome: WorkOutcome) -> WorkOutcome:
        if outcome.is_success:
            return WorkOutcome(error=RuntimeError("too good"))
        return WorkOutcome("forgiven")

    async def fine(ctx: JobContext) -> str:
        return "fine"

    async def fails(ctx: JobContext) -> None:
        raise ValueError("mine")

    assert isinstance(await execute(Hooks([work_end]), fine), Failed)
    assert await execute(Hooks([work_end]), fails) == Succeeded(RawJson('"forgiven"'))


async def test_hooks_run_in_registration_order_and_see_what_the_earlier_made() -> None:
    """A raising one turns the outcome into its error; the next ones see that."""
    seen: list[str] = []

    @hook("work_end")
    def raises(job: Job, ctx: JobContext, outcome: WorkOutcome) -> None:
        raise OSError("first")

    @hook("work_end")
    async def sees(job: Job, ctx: JobContext, outcome: WorkOutcome) -> None:
        seen.append(type(outcome.error).__name__)

    async def fine(ctx: JobContext) -> None:
        return None

    outcome = await execute(Hooks([raises, sees]), fine)
    assert isinstance(outcome, Failed)
    assert seen == ["OSError"]
    assert Hooks([raises, sees]).names() == ["raises", "sees"]


async def test_a_timeout_reaches_work_end_and_stays_a_timeout() -> None:
    """The handler is cancelled; a hook learns of it and cannot turn it into a success."""
    seen: list[str] = []

    @hook
    def work_end(job: Job, ctx: JobContext, outcome: WorkOutcome) -> WorkOutcome:
        seen.append(type(outcome.error).__name__)
        return WorkOutcome("no")

    async def sleeps(ctx: JobContext) -> None:
        await asyncio.sleep(60)

    from ojs_aws.middleware import TimeoutMiddleware

    registry = HandlerRegistry()
    registry.handler("a.b")(sleeps)
    executor = Executor(registry, ExecutionChain([TimeoutMiddleware(0.01)]), Hooks([work_end]))
    outcome = await executor.execute(context())
    assert isinstance(outcome, Failed)
    assert outcome.error["type"] == "timeout"
    assert seen == ["CancelledError"]


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def test_river_020_context_set_in_a_hook_is_gone_and_in_middleware_stays() -> None:
    seen: list[str] = []

    @hook("work_begin")
    def sets(job: Job, ctx: JobContext) -> None:
        variable.set("hook")

    @hook("work_begin")
    async def sets_too(job: Job, ctx: JobContext) -> None:
        variable.set("async hook")

    async def middleware(job: Job, ctx: JobContext, call_next: Any) -> Any:
        variable.set("middleware")
        return await call_next()

    async def handler(ctx: JobContext) -> None:
        seen.append(variable.get())

    registry = HandlerRegistry()
    registry.handler("a.b")(handler)
    for chain in (ExecutionChain(), ExecutionChain([middleware])):
        await asyncio.create_task(
            _no_result(Executor(registry, chain, Hooks([sets, sets_too])).execute(context()))
        )
    assert seen == ["unset", "middleware"]


async def _no_result(going: Any) -> None:
    await going


# ---------------------------------------------------------------------- which jobs
async def test_river_017_a_hook_is_called_for_its_job_types_alone() -> None:
    """Bound by the decorator, by the registration, or by the object."""
    seen: list[str] = []

    @hook("insert_begin", job_type="email.send")
    def by_decorator(job: Job) -> None:
        seen.append(f"decorator {job.type}")

    @hook("insert_begin")
    def by_registration(job: Job) -> None:
        seen.append(f"registration {job.type}")

    class ByObject:
        job_types = ("email.send", "email.sent")

        def insert_begin(self, job: Job) -> None:
            seen.append(f"object {job.type}")

    hooks = Hooks([by_decorator]).add(by_registration, job_type=["sms.send"]).add(ByObject())
    client = client_with(FakeTransport(), middleware=[], hooks=hooks)
    for job_type in ("email.send", "sms.send", "push.send"):
        await client.enqueue(job_type)
    assert seen == ["decorator email.send", "object email.send", "registration sms.send"]


def test_river_009_what_is_not_implemented_is_not_called() -> None:
    """Tabulated once; an operation that nobody hooks costs one look into an empty table."""

    class Counts(Log):
        looked = 0

        def __getattribute__(self, name: str) -> Any:
            type(self).looked += 1
            return super().__getattribute__(name)

    hooks = Hooks([Counts()])
    assert hooks.has_insertion()
    assert hooks.has_execution()
    before = Counts.looked
    for _ in range(100):
        assert not hooks.events()
        assert hooks.table("insert_begin") is hooks.table("insert_begin")
    assert before == Counts.looked


# ---------------------------------------------------------------------- what is no hook
def test_river_010_what_is_no_hook_is_refused_when_it_is_added() -> None:
    class Misspelt:
        def insertbegin(self, job: Job) -> None: ...

    class WrongArity:
        def work_end(self, job: Job) -> None: ...

    class Waits:
        async def metric_emit(self, metric: Metric) -> None: ...

    with pytest.raises(InvalidMiddlewareError, match=r"was insert_begin\(job\) meant"):
        Hooks([Misspelt()])
    with pytest.raises(InvalidMiddlewareError, match=r"as work_end\(job, ctx, outcome\) is"):
        Hooks([WrongArity()])
    with pytest.raises(InvalidMiddlewareError, match="nothing can wait"):
        Hooks([Waits()])
    with pytest.raises(InvalidMiddlewareError, match="no hook 'work_start'"):
        hook("work_start")(lambda job: None)


def test_river_011_a_base_with_nothing_overridden_is_a_hook() -> None:
    class Nothing(HookDefaults): ...

    assert len(Hooks([Nothing()])) == 1


def test_hooks_freeze_with_the_first_job() -> None:
    """MW-CHAIN-010 for hooks."""
    hooks = Hooks([Log()])
    enqueue_sync(EnqueueChain(), job(), store, hooks)
    with pytest.raises(RuntimeError, match="frozen when"):
        hooks.add(Log())


async def test_river_017_a_registration_narrows_what_a_hook_says_itself() -> None:
    """RIVER-017: both have to agree."""
    seen: list[str] = []

    @hook("insert_begin", job_type=["email.send", "sms.send"])
    def marked(job: Job) -> None:
        seen.append(job.type)

    hooks = Hooks().add(marked, job_type=["sms.send", "push.send"])
    client = client_with(FakeTransport(), middleware=[], hooks=hooks)
    for job_type in ("email.send", "sms.send", "push.send"):
        await client.enqueue(job_type)
    assert seen == ["sms.send"]


# ---------------------------------------------------------------------- the others
def test_a_metric_hook_that_fails_keeps_the_others_not() -> None:
    """And the caller learns what was raised."""
    seen: list[Metric] = []

    @hook("metric_emit")
    def broken(metric: Metric) -> None:
        raise OSError("no network")

    @hook("metric_emit")
    def works(metric: Metric) -> None:
        seen.append(metric)

    with pytest.raises(OSError, match="no network"):
        Hooks([broken, works]).metric_emit(Metric("ojs.jobs.completed", 1, "{job}", {}))
    assert len(seen) == 1


def test_metric_hooks_get_each_metric() -> None:
    seen: list[Metric] = []
    metric = Metric("ojs.jobs.completed", 1, "{job}", {"type": "a.b"})

    @hook
    def metric_emit(metric: Metric) -> None:
        seen.append(metric)

    Hooks([metric_emit]).metric_emit(metric)
    assert seen == [metric]


async def test_event_hooks_get_the_event_with_its_id() -> None:
    """Bound to a job type they see the events of such jobs alone."""
    event = HookEvent(
        id="evt_1",
        type="job.retrying",
        time=datetime(2026, 1, 1, tzinfo=UTC),
        subject="job",
        data={},
        job_type="a.b",
    )
    seen: list[str] = []

    @hook("retry_scheduled")
    async def every(event: HookEvent) -> None:
        seen.append(event.id)

    @hook("retry_scheduled", job_type="other")
    def others(event: HookEvent) -> None:
        seen.append("other")

    hooks = Hooks([every, others])
    assert hooks.events() == {"retry_scheduled"}
    await hooks.event("retry_scheduled", event)
    await hooks.event("discarded", event)
    assert seen == ["evt_1"]


async def test_a_method_may_be_marked_as_a_hook_too() -> None:
    """Under any name, and bound to a job type of its own."""

    class Audit:
        def __init__(self) -> None:
            self.seen: list[str] = []

        @hook("insert_begin", job_type="email.send")
        def note_mail(self, job: Job) -> None:
            self.seen.append(job.type)

    audit = Audit()
    client, _ = client_of(audit)
    await client.enqueue("email.send")
    await client.enqueue("sms.send")
    assert audit.seen == ["email.send"]


async def test_a_client_s_metrics_reach_its_hooks() -> None:
    """As a worker's do."""
    names: list[str] = []

    @hook
    def metric_emit(metric: Metric) -> None:
        names.append(metric.name)

    client, _ = client_of(metric_emit, middleware=[MetricsMiddleware(Silent())])
    await client.enqueue("a.b")
    await client.enqueue("a.b")
    assert names == ["ojs.job.enqueued", "ojs.job.enqueue_duration"] * 2


class Silent:
    """A sink for nothing."""

    def emit(self, name: str, value: float, unit: str, attributes: Any) -> None: ...

    def idle(self) -> None: ...


def test_a_class_may_mark_several_methods_as_the_same_hook() -> None:
    """Each for its own job type: none of them is silently left out."""
    seen: list[str] = []

    class Stamps:
        @hook("insert_begin", job_type="a.b")
        def first(self, job: Job) -> None:
            seen.append(f"first {job.type}")

        @hook("insert_begin", job_type="c.d")
        def second(self, job: Job) -> None:
            seen.append(f"second {job.type}")

    hooks = Hooks([Stamps()])
    for job_type in ("a.b", "c.d"):
        enqueue_sync(EnqueueChain(), job(type=job_type), store, hooks)
    assert seen == ["first a.b", "second c.d"]


def test_what_a_removed_hook_was_bound_to_is_forgotten_with_it() -> None:
    log = Log()
    hooks = Hooks().add(log, job_type="other.type").remove(log).add(log)
    enqueue_sync(EnqueueChain(), job(), store, hooks)
    assert log.calls


def test_a_synchronous_function_that_returns_an_awaitable_is_waited_for() -> None:
    """What a decorator makes of an `async def` is not seen to be one; PUSH has no event loop."""
    seen: list[str] = []

    async def waits(given: Job) -> None:
        await asyncio.sleep(0)
        seen.append(given.type)

    def decorated(job: Job) -> object:
        return waits(job)

    enqueue_sync(EnqueueChain(), job(), store, Hooks([hook("insert_begin")(decorated)]))
    assert seen == ["a.b"]


def test_a_hook_that_cannot_be_marked_says_what_to_do() -> None:
    with pytest.raises(InvalidMiddlewareError, match="function"):
        hook("work_begin")(Log().work_begin)
