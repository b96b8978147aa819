"""Trace context: what is injected, what the spans say, how they are connected."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Any

import pytest
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import (
    EnqueueChain,
    ExecutionChain,
    JobTimeoutError,
    TraceContextMiddleware,
)
from ojs_aws.middleware.protocols import EnqueueSide, ExecutionSide
from tests.unit.middleware.doubles import JOB_ID, FakeTransport, client_with, context, job, store

_enqueues: EnqueueSide = TraceContextMiddleware()
_executes: ExecutionSide = TraceContextMiddleware()

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"
XRAY = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
XRAY_TRACE_ID = "5759e988bd862e3fe1be46a994272793"


class Telemetry:
    """An SDK of its own, and middleware that use it."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def middleware(self, environ: dict[str, str] | None = None, **given: Any) -> Any:
        return TraceContextMiddleware(tracer_provider=self.provider, environ=environ or {}, **given)

    def span(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.exporter.get_finished_spans() if span.name == name]
        return found


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


def ids(span: ReadableSpan) -> tuple[str, str]:
    known = span.get_span_context()
    assert known is not None
    return trace.format_trace_id(known.trace_id), trace.format_span_id(known.span_id)


def carried(stored: Job) -> tuple[str, ...]:
    """Trace and span of the job's traceparent, which is a sampled one."""
    form = re.fullmatch("00-([0-9a-f]{32})-([0-9a-f]{16})-0[13]", str(stored.meta["traceparent"]))
    assert form is not None
    return form.groups()


def links(span: ReadableSpan) -> list[str]:
    return [trace.format_span_id(link.context.span_id) for link in span.links]


async def enqueue(middleware: Any, enqueued: Job) -> Job:
    stored = await EnqueueChain([middleware]).run(enqueued, store)
    assert stored is not None
    return stored


async def execute(middleware: Any, executed: Job, handler: Any = lambda *_: None) -> Any:
    ctx = context(executed)
    await ExecutionChain([middleware]).run(executed, ctx, handler)
    return ctx


# -------------------------------------------------------------------------------- enqueueing
async def test_enqueueing_under_a_span_injects_the_producer_span(telemetry: Telemetry) -> None:
    """MW-BUILTIN-014: a W3C traceparent of the active trace, and of the enqueue span itself."""
    with telemetry.tracer.start_as_current_span("POST /signup") as outer:
        stored = await enqueue(telemetry.middleware(), job(queue="email"))
    span = telemetry.span("email enqueue")
    assert list(stored.meta) == ["traceparent", "trace_id", "span_id"]
    assert (stored.meta["trace_id"], stored.meta["span_id"]) == carried(stored)
    assert carried(stored) == ids(span)
    assert span.parent is not None
    assert span.parent.span_id == outer.get_span_context().span_id
    assert (span.kind, span.status.status_code) == (SpanKind.PRODUCER, StatusCode.OK)
    assert dict(span.attributes or {}) == {
        "messaging.system": "ojs",
        "messaging.operation.type": "publish",
        "messaging.destination.name": "email",
        "messaging.message.id": JOB_ID,
        "ojs.job.id": JOB_ID,
        "ojs.job.type": "a.b",
        "ojs.job.queue": "email",
        "ojs.job.priority": 0,
    }


async def test_an_sdk_without_an_active_span_starts_a_trace(telemetry: Telemetry) -> None:
    """The producer span is its root."""
    stored = await enqueue(telemetry.middleware(), job(queue="email"))
    assert telemetry.span("email enqueue").parent is None
    assert carried(stored) == ids(telemetry.span("email enqueue"))


async def test_without_a_trace_nothing_is_injected() -> None:
    """Neither an SDK nor an active span: the job stays as it is, without a ``meta``."""
    stored = await enqueue(TraceContextMiddleware(environ={}), job())
    assert "meta" not in stored


async def test_what_the_client_sent_is_kept(telemetry: Telemetry) -> None:
    """MW-BUILTIN-014, in a backend: preserved without a change, and no span around it."""
    meta = {"traceparent": TRACEPARENT, "tracestate": "rojo=00f067aa0ba902b7"}
    with telemetry.tracer.start_as_current_span("PUSH"):
        stored = await enqueue(telemetry.middleware(), job(meta=meta))
    assert stored.meta == meta
    assert [span.name for span in telemetry.exporter.get_finished_spans()] == ["PUSH"]


MALFORMED = [
    "",
    "x",
    5,
    None,
    ["00"],
    f"ff-{TRACE_ID}-{SPAN_ID}-01",
    f"00-{'0' * 32}-{SPAN_ID}-01",
    f"00-{TRACE_ID}-{SPAN_ID}-zz",
    f"00-{TRACE_ID.upper()}-{SPAN_ID}-01",
    "0" * 100_000,
]


@pytest.mark.parametrize("malformed", MALFORMED)
async def test_a_malformed_traceparent_is_replaced(telemetry: Telemetry, malformed: Any) -> None:
    """With its tracestate, which belongs to it."""
    meta = {"traceparent": malformed, "tracestate": "a=b", "locale": "de"}
    stored = await enqueue(telemetry.middleware(), job(queue="q", meta=meta))
    assert set(stored.meta) == {"locale", "traceparent", "trace_id", "span_id"}
    assert (stored.meta["trace_id"], stored.meta["span_id"]) == carried(stored)
    assert carried(stored) == ids(telemetry.span("q enqueue"))


async def test_a_meta_that_is_no_object_is_left_to_validation(telemetry: Telemetry) -> None:
    """Replacing it would hide the mistake."""
    wrong = Job.from_json('{"id": "1", "type": "a.b", "args": [], "meta": 5}')
    stored = await enqueue(telemetry.middleware(), wrong)
    assert stored["meta"] == 5


async def test_a_failed_enqueue_is_an_error_span(telemetry: Telemetry) -> None:
    """ojs-distributed-tracing, section 8."""

    def refuses(_: Job) -> Job:
        raise ConnectionError("refused")

    with pytest.raises(ConnectionError):
        await EnqueueChain([telemetry.middleware()]).run(job(queue="email"), refuses)
    span = telemetry.span("email enqueue")
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "refused")
    assert (span.attributes or {})["error.type"] == "ConnectionError"


async def test_the_span_is_named_after_the_queue_that_the_job_came_to(
    telemetry: Telemetry,
) -> None:
    """A middleware further in may send it elsewhere."""

    async def routes(job: Job, call_next: Any) -> Any:
        return await call_next(job.copy(queue="other"))

    await EnqueueChain([telemetry.middleware(), routes]).run(job(queue="email"), store)
    assert (telemetry.span("other enqueue").attributes or {})["ojs.job.queue"] == "other"


def test_enqueueing_needs_no_event_loop(telemetry: Telemetry) -> None:
    """In PUSH."""
    chain = EnqueueChain([telemetry.middleware()])
    stored, _ = chain.run_sync(job(), lambda kept: kept)
    assert stored is not None
    assert "traceparent" in stored.meta


@pytest.mark.parametrize(
    ("queues", "name"), [("aaa", "a enqueue_batch"), ("aba", "several enqueue_batch")]
)
async def test_the_jobs_of_a_batch_have_one_parent(
    telemetry: Telemetry, queues: str, name: str
) -> None:
    """RIVER-008: one span around the whole insertion, and one for each job."""
    client = client_with(FakeTransport(), middleware=[telemetry.middleware()])
    results = await client.enqueue_many([Job("a.b", queue=queue) for queue in queues])
    batch = telemetry.span(name)
    assert (batch.attributes or {})["messaging.batch.message_count"] == 3
    assert batch.status.status_code == StatusCode.OK
    assert batch.parent is None
    each = [span for span in telemetry.exporter.get_finished_spans() if span is not batch]
    assert [span.parent for span in each] == [batch.context] * 3
    assert {carried(result.job) for result in results} == {ids(span) for span in each}
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_batch_that_has_its_traces_is_passed_on(telemetry: Telemetry) -> None:
    """As a backend does it."""
    client = client_with(FakeTransport(), middleware=[telemetry.middleware()])
    meta: dict[str, Any] = {"traceparent": TRACEPARENT}
    results = await client.enqueue_many([Job("a.b", meta=meta), Job("a.b", meta=meta)])
    assert [result.job.meta for result in results] == [meta, meta]
    assert telemetry.exporter.get_finished_spans() == ()


async def test_a_batch_that_fails_is_an_error_span(telemetry: Telemetry) -> None:
    """As a single job is."""

    class Refusing(FakeTransport):
        async def push_all(self, jobs: Any) -> Any:
            raise ConnectionError("refused")

    client = client_with(Refusing(), middleware=[telemetry.middleware()])
    with pytest.raises(ConnectionError):
        await client.enqueue_many([Job("a.b", queue="a"), Job("a.b", queue="a")])
    assert telemetry.span("a enqueue_batch").status.status_code == StatusCode.ERROR


# --------------------------------------------------------------------------------- execution
async def test_the_execution_is_a_span_of_the_same_trace(telemetry: Telemetry) -> None:
    """MW-BUILTIN-014, MW-BUILTIN-015: child of the enqueue span and linked to it."""
    seen: list[str] = []

    def handler(*_: object) -> None:
        seen.append(trace.format_trace_id(trace.get_current_span().get_span_context().trace_id))

    executed = job(queue="email", attempt=2, meta={"traceparent": TRACEPARENT})
    ctx = await execute(telemetry.middleware(), executed, handler)
    span = telemetry.span("ojs.job.execute")
    assert seen == [TRACE_ID]
    assert span.parent is not None
    assert trace.format_span_id(span.parent.span_id) == SPAN_ID
    assert links(span) == [SPAN_ID]
    assert (span.kind, span.status.status_code) == (SpanKind.CONSUMER, StatusCode.OK)
    attributes = dict(span.attributes or {})
    assert attributes["ojs.job.attempt"] == 2
    assert attributes["messaging.operation.type"] == "process"
    assert {attributes[f"ojs.job.{name}"] for name in ("id", "type", "queue")} == {
        JOB_ID,
        "a.b",
        "email",
    }
    assert (ctx.metadata["trace_id"], ctx.metadata["span_id"]) == ids(span)


async def test_the_enqueue_span_and_the_execute_span_are_connected(telemetry: Telemetry) -> None:
    """RIVER-022: one middleware object, through the job's metadata."""
    middleware = telemetry.middleware()
    stored = await enqueue(middleware, job(queue="email"))
    await execute(middleware, Job.from_json(stored.to_json()))
    enqueued, executed = telemetry.span("email enqueue"), telemetry.span("ojs.job.execute")
    assert ids(executed)[0] == ids(enqueued)[0]
    assert links(executed) == [ids(enqueued)[1]]


async def test_a_link_keeps_the_worker_s_trace_apart(telemetry: Telemetry) -> None:
    """ojs-observability, section 5.2: child of the worker's span, linked to the enqueue span."""
    executed = job(meta={"traceparent": TRACEPARENT})
    with telemetry.tracer.start_as_current_span("poll") as poll:
        await execute(telemetry.middleware(relation="link"), executed)
    span = telemetry.span("ojs.job.execute")
    assert span.parent is not None
    assert span.parent.span_id == poll.get_span_context().span_id
    assert ids(span)[0] != TRACE_ID
    assert links(span) == [SPAN_ID]


async def test_a_link_without_a_trace_of_the_worker_is_a_root(telemetry: Telemetry) -> None:
    """A new trace for each execution."""
    await execute(telemetry.middleware(relation="link"), job(meta={"traceparent": TRACEPARENT}))
    assert telemetry.span("ojs.job.execute").parent is None


@pytest.mark.parametrize("meta", [None, {}, *({"traceparent": bad} for bad in MALFORMED)])
async def test_without_a_valid_traceparent_there_is_no_span(
    telemetry: Telemetry, meta: dict[str, Any] | None
) -> None:
    """MW-BUILTIN-015: and the job runs, whatever its meta says."""
    ran: list[bool] = []
    await execute(telemetry.middleware(), job(meta=meta), lambda *_: ran.append(True))
    assert (ran, telemetry.exporter.get_finished_spans()) == ([True], ())


async def test_a_malformed_tracestate_does_not_matter(telemetry: Telemetry) -> None:
    """The traceparent alone decides."""
    meta = {"traceparent": TRACEPARENT, "tracestate": "===,,\x00"}
    await execute(telemetry.middleware(), job(meta=meta))
    assert ids(telemetry.span("ojs.job.execute"))[0] == TRACE_ID


@pytest.mark.parametrize(
    ("problem", "kind"), [(OSError("SMTP"), "OSError"), (JobTimeoutError("SMTP"), "timeout")]
)
async def test_a_failure_is_recorded(telemetry: Telemetry, problem: Exception, kind: str) -> None:
    """MW-BUILTIN-015: status, exception event and error attributes; and it is raised again."""

    def fails(*_: object) -> None:
        raise problem

    executed = job(attempt=3, meta={"traceparent": TRACEPARENT})
    with pytest.raises(type(problem)):
        await execute(telemetry.middleware(), executed, fails)
    span = telemetry.span("ojs.job.execute")
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "SMTP")
    assert [event.name for event in span.events] == ["exception"]
    attributes = dict(span.attributes or {})
    assert (attributes["error.type"], attributes["error.message"]) == (kind, "SMTP")
    assert attributes["ojs.job.error.attempt"] == 3


async def test_a_cancelled_execution_is_no_error(telemetry: Telemetry) -> None:
    """ojs-distributed-tracing, section 8.1."""

    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    executed = job(meta={"traceparent": TRACEPARENT})
    running = asyncio.ensure_future(execute(telemetry.middleware(), executed, hangs))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    span = telemetry.span("ojs.job.execute")
    assert (span.status.status_code, span.events) == (StatusCode.OK, ())


async def test_without_an_sdk_the_context_is_passed_on() -> None:
    """The handler's own requests still belong to the trace."""
    seen: list[int] = []

    def handler(*_: object) -> None:
        seen.append(trace.get_current_span().get_span_context().trace_id)

    await execute(TraceContextMiddleware(), job(meta={"traceparent": TRACEPARENT}), handler)
    assert seen == [int(TRACE_ID, 16)]


# ------------------------------------------------------------------------- X-Ray and baggage
async def test_under_lambda_x_ray_is_the_parent(telemetry: Telemetry) -> None:
    """Of an enqueue span, where no other span is active."""
    middleware = telemetry.middleware({"_X_AMZN_TRACE_ID": XRAY})
    stored = await enqueue(middleware, job(queue="q"))
    assert str(stored.meta["traceparent"]).split("-")[1] == XRAY_TRACE_ID
    with telemetry.tracer.start_as_current_span("own") as own:
        await enqueue(middleware, job(queue="other"))
    assert telemetry.span("other enqueue").parent == own.get_span_context()


async def test_under_lambda_without_an_sdk_x_ray_is_passed_on() -> None:
    """No span of ours; the trace goes on."""
    stored = await enqueue(TraceContextMiddleware(environ={"_X_AMZN_TRACE_ID": XRAY}), job())
    assert stored.meta["traceparent"] == f"00-{XRAY_TRACE_ID}-53995c3f42cd8ad8-01"


async def test_an_execution_under_lambda_links_to_x_ray(telemetry: Telemetry) -> None:
    """The job's own trace outweighs that of the invocation; as a link's parent it serves."""
    environ = {"_X_AMZN_TRACE_ID": XRAY}
    executed = job(meta={"traceparent": TRACEPARENT})
    await execute(telemetry.middleware(environ), executed)
    assert links(telemetry.span("ojs.job.execute")) == [SPAN_ID, "53995c3f42cd8ad8"]
    telemetry.exporter.clear()
    await execute(telemetry.middleware(environ, relation="link"), executed)
    assert ids(telemetry.span("ojs.job.execute"))[0] == XRAY_TRACE_ID


@pytest.mark.parametrize("header", ["x", "Root=1-x-y;Parent=z;Sampled=7", "Root=;;;=", "a=b"])
async def test_a_malformed_x_ray_header_does_not_matter(telemetry: Telemetry, header: str) -> None:
    """It is taken as none."""
    await enqueue(telemetry.middleware({"_X_AMZN_TRACE_ID": header}), job(queue="q"))
    assert telemetry.span("q enqueue").parent is None


async def test_baggage_goes_with_the_job_when_asked_for(telemetry: Telemetry) -> None:
    """ojs-distributed-tracing, section 9: an option, for baggage is the application's data."""
    token = otel_context.attach(baggage.set_baggage("tenant", "acme"))
    try:
        plain = await enqueue(telemetry.middleware(), job(queue="a"))
        stored = await enqueue(telemetry.middleware(baggage=True), job(queue="b"))
    finally:
        otel_context.detach(token)
    assert "baggage" not in plain.meta
    assert stored.meta["baggage"] == "tenant=acme"
    seen: list[object] = []
    await execute(
        telemetry.middleware(baggage=True),
        stored,
        lambda *_: seen.append(baggage.get_baggage("tenant")),
    )
    assert seen == ["acme"]


# ------------------------------------------------------------------------------------- others
def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """At construction."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"pip install 'ojs-aws\[telemetry\]'"):
        TraceContextMiddleware()


def test_a_relation_that_does_not_exist_is_refused() -> None:
    """At construction too."""
    with pytest.raises(ValueError, match="'child' or 'link', not 'parent'"):
        TraceContextMiddleware(relation="parent")  # type: ignore[arg-type]


async def test_jobs_at_the_same_time_keep_their_traces_apart(telemetry: Telemetry) -> None:
    """MW-CHAIN-026: fifty tasks through one instance."""
    middleware = telemetry.middleware()
    seen: dict[int, int] = {}

    async def one(number: int) -> None:
        async def handler(*_: object) -> None:
            await asyncio.sleep(0)
            seen[number] = trace.get_current_span().get_span_context().trace_id

        meta = {"traceparent": f"00-{number:032x}-{SPAN_ID}-01"}
        await execute(middleware, job(meta=meta), handler)

    async with asyncio.TaskGroup() as group:
        for number in range(1, 51):
            group.create_task(one(number))
    assert seen == {number: number for number in range(1, 51)}
