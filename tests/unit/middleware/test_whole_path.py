"""Middleware and hooks on the whole path: client, backend and worker, over the model of AWS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from ojs_aws.client import Client
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.client.transports.requests import Transport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import RawJson
from ojs_aws.middleware import (
    HookDefaults,
    Hooks,
    JobContext,
    LoggingMiddleware,
    MetricsMiddleware,
    TraceContextMiddleware,
    hook,
)
from tests.unit.middleware.doubles import Traced
from tests.unit.worker.test_lambda_worker import Bench


class Path(Bench):
    """A client and a worker of one backend, each with a chain of its own."""

    def __init__(self, enqueuing: Any = (), execution: Any = (), hooks: Any = ()) -> None:
        super().__init__(middleware=execution, hooks=hooks)
        transport = cast("Transport", InProcessTransport(self.backend))
        self.client = Client(transport=transport, middleware=enqueuing, hooks=hooks)

    def enqueue(self, *args: Any, **given: Any) -> str:
        return asyncio.run(self.client.enqueue("a.b", args, **given)).id

    def run(self, *args: Any, **given: Any) -> Any:
        """Enqueue a job, execute it once, and read it."""
        job_id = self.enqueue(*args, **given)
        self.invoke()
        return self.job(job_id)

    def again(self) -> None:
        """Execute what is due once a minute has passed."""
        self.world.clock.advance(s=60)
        self.invoke()


Paths = Callable[..., Path]


@pytest.fixture
def paths() -> Iterator[Paths]:
    made: list[Path] = []

    def make(**given: Any) -> Path:
        made.append(Path(**given))
        return made[-1]

    yield make
    for path in made:
        path.worker._loop.close()


def recorder(path: Path, trace: list[Any], result: object = None) -> None:
    """Register a handler that notes its call."""

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext, *_: Any) -> object:
        trace.append("handler")
        return result


async def stamps(job: Job, call_next: Any) -> Any:
    job.meta["stamp"] = True
    return await call_next(job)


# ---------------------------------------------------------------------- the chains
def test_appendix_a_enqueue_chains_are_supported(paths: Paths) -> None:
    """MW-ENQ-001: around every submission, whatever its form, as configured."""
    path = paths(enqueuing=[stamps])
    one = path.enqueue(1)
    many = asyncio.run(path.client.enqueue_many([Job("a.b", [n]) for n in range(2)]))
    stored = [path.job(job_id) for job_id in (one, *(result.id for result in many))]
    assert ['"meta":{"stamp":true}' in str(job.document) for job in stored] == [True] * 3
    assert path.client.middleware.names() == ["stamps"]


def test_appendix_a_execution_chains_are_supported(paths: Paths) -> None:
    """MW-EXE-001: around each execution, as configured."""
    trace: list[Any] = []
    path = paths(execution=[Traced(trace, "A")])
    recorder(path, trace)
    for _ in range(2):
        assert path.run().state is JobState.COMPLETED
    assert trace == ["A-in", "handler", "A-out"] * 2


def test_appendix_a_empty_chains_are_supported(paths: Paths) -> None:
    """MW-CHAIN-023: a job is enqueued and executed without any middleware."""
    path = paths(enqueuing=[], execution=[])
    recorder(path, [], result=7)
    job = path.run("x")
    assert (job.state, job.result) == (JobState.COMPLETED, RawJson("7"))
    assert (len(path.client.middleware), len(path.worker.middleware)) == (0, 0)


def test_appendix_a_default_chains_work_without_configuration(paths: Paths) -> None:
    """MW-BUILTIN-016..018, MW-CHAIN-019."""
    path = paths(enqueuing=None, execution=None)
    recorder(path, [], result=7)
    assert path.client.middleware.names() == ["logging"]
    assert path.worker.middleware.names() == ["logging", "metrics", "error_reporting", "timeout"]
    assert path.run().state is JobState.COMPLETED


def test_mw_enq_011_a_change_is_stored_and_executed(paths: Paths) -> None:
    """MW-ENQ-010: whether it was made in place or on a copy."""
    seen: list[Any] = []

    async def copies(job: Job, call_next: Any) -> Any:
        return await call_next(job.copy(args=[*job.args, "copied"]))

    path = paths(enqueuing=[stamps, copies])

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext, *args: Any) -> None:
        seen.extend([ctx.job.meta, args])

    path.run(1)
    assert seen == [{"stamp": True}, (1, "copied")]


# ---------------------------------------------------------------------- what becomes of the job
def test_mw_exe_005_zero_calls_short_circuit_and_complete_the_job(paths: Paths) -> None:
    trace: list[Any] = []

    async def breaker(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return {"skipped": True}

    path = paths(execution=[breaker])
    recorder(path, trace)
    job = path.run()
    assert (job.state, job.result, trace) == (JobState.COMPLETED, RawJson('{"skipped":true}'), [])


def test_mw_exe_007_the_outermost_result_is_acknowledged(paths: Paths) -> None:
    async def wraps(job: Job, ctx: JobContext, call_next: Any) -> Any:
        return {"wrapped": await call_next()}

    path = paths(execution=[wraps, wraps])
    recorder(path, [], result=1)
    assert path.run().result == RawJson('{"wrapped":{"wrapped":1}}')


def test_mw_exe_009_012_an_unhandled_error_is_retried_and_counted(paths: Paths) -> None:
    """The error passes the chain, the policy applies, and the next attempt knows its number."""
    attempts: list[tuple[int, int]] = []
    trace: list[Any] = []
    path = paths(execution=[Traced(trace, "A")])

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        attempts.append((ctx.attempt, ctx.job.attempt))
        if ctx.attempt == 1:
            raise ConnectionError("reset")

    job = path.run(retry={"initial_interval": "PT1S"})
    assert job.state is JobState.RETRYABLE
    assert (job.error.type, job.attempt) == ("ConnectionError", 1)
    path.again()
    assert path.job(job.id).state is JobState.COMPLETED
    assert attempts == [(1, 1), (2, 2)]
    assert trace == ["A-in", "A-out"] * 2


def test_mw_exe_010_a_transformed_error_is_the_one_reported(paths: Paths) -> None:
    class DomainError(Exception): ...

    async def transforms(job: Job, ctx: JobContext, call_next: Any) -> Any:
        try:
            return await call_next()
        except ValueError as problem:
            raise DomainError("in our words") from problem

    path = paths(execution=[transforms])

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        raise ValueError("theirs")

    job = path.run()
    assert (job.state, job.error.type, job.error.message) == (
        JobState.RETRYABLE,
        "DomainError",
        "in our words",
    )


def test_mw_exe_019_020_an_error_of_a_middleware_is_retried_under_its_name(paths: Paths) -> None:
    """Raised before next: outer layers see it, inner ones and the handler never run."""
    trace: list[Any] = []

    async def broken(job: Job, ctx: JobContext, call_next: Any) -> Any:
        raise OSError("metrics backend")

    path = paths(execution=[Traced(trace, "outer"), broken, Traced(trace, "inner")])
    recorder(path, trace)
    job = path.run()
    assert (job.state, job.error.type) == (JobState.RETRYABLE, "OSError")
    assert job.error.extra["details"] == RawJson('{"origin":"middleware:broken"}')
    assert trace == ["outer-in", "outer-out"]


def test_mw_exe_025_a_suppressed_error_completes_the_job(paths: Paths) -> None:
    async def forgives(job: Job, ctx: JobContext, call_next: Any) -> Any:
        try:
            return await call_next()
        except ValueError as problem:
            ctx.mark_handled(problem)
            return "forgiven"

    path = paths(execution=[forgives])

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        raise ValueError("mine")

    job = path.run()
    assert (job.state, job.result) == (JobState.COMPLETED, RawJson('"forgiven"'))


def test_mw_exe_017_the_metadata_is_shared_within_an_execution_only(paths: Paths) -> None:
    seen: list[dict[str, Any]] = []

    async def sets(job: Job, ctx: JobContext, call_next: Any) -> Any:
        seen.append(dict(ctx.metadata))
        ctx.metadata["who"] = job.args[0]
        return await call_next()

    async def reads(job: Job, ctx: JobContext, call_next: Any) -> Any:
        seen.append(dict(ctx.metadata))
        return await call_next()

    path = paths(execution=[sets, reads])

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext, _: str) -> None:
        seen.append(dict(ctx.metadata))

    path.run("one")
    path.run("two")
    assert seen == [{}, {"who": "one"}, {"who": "one"}, {}, {"who": "two"}, {"who": "two"}]


# ---------------------------------------------------------------------- the built-ins
def test_appendix_a_logging_middleware_serves_both_chains(
    paths: Paths, caplog: pytest.LogCaptureFixture
) -> None:
    """MW-BUILTIN-002: one instance, in a client and in a worker."""
    both = LoggingMiddleware()
    path = paths(enqueuing=[both], execution=[both])
    recorder(path, [])
    with caplog.at_level(logging.INFO, "ojs_aws.job"):
        job = path.run()
    records = [record for record in caplog.records if record.name == "ojs_aws.job"]
    assert [record.message for record in records] == [
        "Job enqueued",
        "Job started",
        "Job completed",
    ]
    assert {record.__dict__["job_id"] for record in records} == {job.id}


def test_appendix_a_metrics_middleware_counts_and_times_executions(paths: Paths) -> None:
    """MW-BUILTIN-006, MW-BUILTIN-007."""
    emitted: list[tuple[str, dict[str, str]]] = []

    class Sink:
        def emit(self, name: str, value: float, unit: str, attributes: Any) -> None:
            emitted.append((name, dict(attributes)))

        def idle(self) -> None: ...

    path = paths(execution=[MetricsMiddleware(Sink())])
    recorder(path, [])
    path.run(queue="default")
    assert {name for name, _ in emitted} >= {"ojs.jobs.duration_ms", "ojs.jobs.completed"}
    assert all(tags["type"] == "a.b" for _, tags in emitted)
    assert all(tags["queue"] == "default" for _, tags in emitted)


def test_appendix_a_trace_context_middleware_serves_both_chains(paths: Paths) -> None:
    """MW-BUILTIN-014: the handler works in the producer's trace, below the span that it carries."""
    provider = TracerProvider()
    both = TraceContextMiddleware(tracer_provider=provider, environ={})
    path = paths(enqueuing=[both], execution=[both])
    seen: list[tuple[int, str]] = []

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        here = trace.get_current_span()
        assert isinstance(here, ReadableSpan)
        assert here.parent is not None
        seen.append((here.parent.trace_id, trace.format_span_id(here.parent.span_id)))
        carried.append(str(ctx.job.meta["traceparent"]))

    carried: list[str] = []
    with provider.get_tracer("test").start_as_current_span("request") as span:
        job = path.run()
    trace_id = span.get_span_context().trace_id
    assert f'"traceparent":"00-{trace.format_trace_id(trace_id)}-' in str(job.document)
    assert seen == [(trace_id, carried[0].split("-")[2])]


# ---------------------------------------------------------------------- River's ideas
class Everything(HookDefaults):
    """Takes part in enqueueing and in execution, as middleware and as a hook."""

    name = "everything"

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def enqueue(self, job: Job, call_next: Any) -> Any:
        self.calls.append("enqueue")
        return await call_next(job)

    async def execute(self, job: Job, ctx: JobContext, call_next: Any) -> Any:
        self.calls.append("execute")
        return await call_next()

    def insert_begin(self, job: Job) -> None:
        self.calls.append("insert_begin")

    def work_begin(self, job: Job, ctx: JobContext) -> None:
        self.calls.append("work_begin")


def test_river_003_middleware_has_decoded_arguments_and_wraps_the_handler(paths: Paths) -> None:
    seen: list[Any] = []

    async def looks(job: Job, ctx: JobContext, call_next: Any) -> Any:
        seen.append(job.args)
        result = await call_next()
        seen.append(result)
        return result

    path = paths(execution=[looks])
    recorder(path, seen, result="done")
    path.run("é", {"n": [1, None]})
    assert seen == [["é", {"n": [1, None]}], "handler", "done"]


def test_river_006_an_error_after_next_fails_the_job_that_was_done(paths: Paths) -> None:
    trace: list[Any] = []

    async def commits(job: Job, ctx: JobContext, call_next: Any) -> Any:
        await call_next()
        raise ConnectionError("commit")

    path = paths(execution=[commits])
    recorder(path, trace, result="done")
    job = path.run()
    assert (job.state, job.error.message, job.result) == (JobState.RETRYABLE, "commit", None)
    assert trace == ["handler"]


def test_river_007_both_sides_nest_in_the_configured_order(
    paths: Paths,
) -> None:
    trace: list[Any] = []
    path = paths(
        enqueuing=[Traced(trace, "A"), Traced(trace, "B")],
        execution=[Traced(trace, "B"), Traced(trace, "A")],
    )
    recorder(path, trace)
    path.run()
    assert trace == [
        *("A-in", "B-in", "B-out", "A-out"),
        *("B-in", "A-in", "handler", "A-out", "B-out"),
    ]


def test_river_013_a_hook_is_in_no_traceback_of_a_handler(paths: Paths) -> None:
    path = paths(hooks=[Everything()])

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        raise ValueError("mine")

    frame, note = path.run().error.backtrace
    assert "in handle" in frame
    assert note.endswith("frames of the worker and of its middleware chain left out)")


def test_river_015_work_begin_is_called_once_before_each_attempt(paths: Paths) -> None:
    calls: list[str] = []

    @hook
    def work_begin(job: Job, ctx: JobContext) -> None:
        calls.append(f"begin {ctx.attempt}")

    path = paths(hooks=[work_begin])

    @path.worker.handler("a.b")
    async def handle(ctx: JobContext) -> None:
        calls.append(f"handler {ctx.attempt}")
        if ctx.attempt == 1:
            raise ConnectionError("reset")

    path.run(retry={"initial_interval": "PT1S"})
    path.again()
    assert calls == ["begin 1", "handler 1", "begin 2", "handler 2"]


def test_river_016_hooks_have_a_setting_of_their_own(paths: Paths) -> None:
    """In the client and in the worker: a hook is no member of the chain, nor the other way."""
    as_hook = Everything()
    path = paths(hooks=[as_hook])
    recorder(path, as_hook.calls)
    path.run()
    assert as_hook.calls == ["insert_begin", "work_begin", "handler"]
    as_middleware = Everything()
    path = paths(enqueuing=[as_middleware], execution=[as_middleware])
    recorder(path, as_middleware.calls)
    path.run()
    assert as_middleware.calls == ["enqueue", "execute", "handler"]


def test_river_018_registering_finds_all_the_hooks_of_an_object(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Everything()
    path = paths(hooks=Hooks([both]))
    recorder(path, both.calls)
    for name in ("work_begin", "work_end"):
        monkeypatch.setattr(Everything, name, lambda *_: both.calls.append("late"), raising=False)
    path.run()
    assert both.calls == ["insert_begin", "work_begin", "handler"]


def test_river_019_a_work_begin_that_raises_fails_the_attempt(paths: Paths) -> None:
    trace: list[Any] = []

    @hook
    def work_begin(job: Job, ctx: JobContext) -> None:
        raise PermissionError("closed")

    path = paths(hooks=[work_begin])
    recorder(path, trace)
    job = path.run()
    assert (job.state, job.error.type, trace) == (JobState.RETRYABLE, "PermissionError", [])
