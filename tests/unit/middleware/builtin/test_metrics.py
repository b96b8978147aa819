"""Metrics: names, tags, both sinks, the choice between them, and concurrency."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from ojs_aws import LambdaWorker
from ojs_aws.middleware import (
    EmfSink,
    EnqueueChain,
    ExecutionChain,
    JobTimeoutError,
    Metric,
    MetricsMiddleware,
    OpenTelemetrySink,
    TimeoutMiddleware,
)
from ojs_aws.middleware.builtin.metric_sinks import MetricSink
from ojs_aws.middleware.builtin.metrics import default_sink
from ojs_aws.middleware.protocols import EnqueueSide, ExecutionSide
from ojs_aws.worker.failure import SnoozeError
from tests.unit.middleware.doubles import context, job, store

_enqueues: EnqueueSide = MetricsMiddleware()
_executes: ExecutionSide = MetricsMiddleware()

TAGS = {"type": "a.b", "queue": "email"}


class Sink:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.values: list[tuple[str, float, str, Mapping[str, str]]] = []
        self.idles = 0

    def emit(self, name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
        self.values.append((name, value, unit, attributes))

    def idle(self) -> None:
        self.idles += 1

    def names(self) -> list[str]:
        return [name for name, *_ in self.values]


_sinks: list[MetricSink] = [Sink(), EmfSink(write=str), OpenTelemetrySink()]


def ticking(*moments: float) -> Any:
    return iter(moments).__next__


async def execute(metrics: MetricsMiddleware, handler: Any, **members: Any) -> object:
    executed = job(**({"queue": "email", "attempt": 1} | members))
    return await ExecutionChain([metrics]).run(executed, context(executed), handler)


def raising(problem: BaseException) -> Any:
    def handler(*_: object) -> None:
        raise problem

    return handler


async def test_a_completed_job_is_timed_and_counted() -> None:
    """MW-BUILTIN-006, MW-BUILTIN-007: names, units and tags."""
    sink = Sink()
    assert await execute(MetricsMiddleware(sink, clock=ticking(1.0, 1.25)), lambda *_: 7) == 7
    assert sink.values == [
        ("ojs.jobs.duration_ms", 250.0, "ms", TAGS),
        ("ojs.jobs.completed", 1, "{job}", TAGS),
    ]


async def test_a_failed_job_is_timed_counted_and_raised() -> None:
    """MW-BUILTIN-007: the error goes on."""
    sink = Sink()
    with pytest.raises(OSError, match="x"):
        await execute(MetricsMiddleware(sink, clock=ticking(1.0, 1.012)), raising(OSError("x")))
    assert sink.names() == ["ojs.jobs.duration_ms", "ojs.jobs.failed"]
    assert sink.values[0][1] == pytest.approx(12.0)


async def test_a_timeout_is_a_failure_and_a_timeout() -> None:
    """MW-CHAIN-020: duration, failed and timeout, from around the real timeout."""
    sink = Sink()
    executed = job(queue="email", attempt=1, timeout_s=1)
    ctx = context(executed)
    ctx.remaining_s = lambda: 0.001  # type: ignore[method-assign]

    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    with pytest.raises(JobTimeoutError):
        await ExecutionChain([MetricsMiddleware(sink), TimeoutMiddleware()]).run(
            executed, ctx, hangs
        )
    assert sink.names() == ["ojs.jobs.duration_ms", "ojs.jobs.failed", "ojs.jobs.timeout"]


async def test_a_job_that_was_given_up_has_no_outcome() -> None:
    """Cancelled by its worker: neither completed nor failed."""
    sink = Sink()

    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    running = asyncio.ensure_future(execute(MetricsMiddleware(sink), hangs))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (sink.values, sink.idles) == ([], 1)


async def test_a_snooze_has_no_outcome() -> None:
    """Put off by its handler: neither completed nor failed."""
    sink = Sink()
    with pytest.raises(SnoozeError):
        await execute(MetricsMiddleware(sink), raising(SnoozeError("10m")))
    assert (sink.values, sink.idles) == ([], 1)


@pytest.mark.parametrize("problem", [SystemExit(1), asyncio.CancelledError(), BaseException()])
async def test_what_the_worker_takes_for_a_failure_counts_as_one(problem: BaseException) -> None:
    """A handler that exits, or that raises the cancellation of a task of its own."""
    sink = Sink()
    with pytest.raises(type(problem)):
        await execute(MetricsMiddleware(sink), raising(problem))
    assert sink.names()[1:] == ["ojs.jobs.failed"]


async def test_enqueueing_is_counted_and_timed() -> None:
    """As ojs-observability, section 8, names it; a dropped job is not counted."""
    sink = Sink()
    metrics = MetricsMiddleware(sink, clock=ticking(1.0, 1.5, 2.0))
    await EnqueueChain([metrics]).run(job(queue="email"), store)
    await EnqueueChain([metrics, lambda job, call_next: None]).run(job(queue="email"), store)
    assert sink.values == [
        ("ojs.job.enqueued", 1, "{job}", TAGS),
        ("ojs.job.enqueue_duration", 0.5, "s", {"queue": "email"}),
    ]


def test_enqueueing_needs_no_event_loop() -> None:
    """As the built-in middleware of PUSH's chain."""
    sink = Sink()
    EnqueueChain([MetricsMiddleware(sink)]).run_sync(job(), lambda kept: kept)
    assert sink.names() == ["ojs.job.enqueued", "ojs.job.enqueue_duration"]


async def test_cardinality_is_bounded() -> None:
    """The first pairs of type and queue keep their names; ids are never tags."""
    sink = Sink()
    metrics = MetricsMiddleware(sink, max_series=2)
    for name in ("a", "b", "c", "d", "a"):
        await execute(metrics, lambda *_: None, type=name, queue="q")
    counted = Counter(
        tags["type"] for name, _, _, tags in sink.values if name == "ojs.jobs.completed"
    )
    assert counted == {"a": 2, "b": 1, "other": 2}
    assert all(set(tags) == {"type", "queue"} for *_, tags in sink.values)


async def test_a_broken_sink_fails_no_job(caplog: pytest.LogCaptureFixture) -> None:
    """And complains once, not once for each job."""

    class Broken(Sink):
        def emit(self, *_: object) -> None:
            raise OSError("down")

        def idle(self) -> None:
            raise OSError("down")

    metrics = MetricsMiddleware(Broken())
    assert [await execute(metrics, lambda *_: 7) for _ in range(3)] == [7, 7, 7]
    assert caplog.text.count("Metrics are lost") == 1


async def test_every_metric_passes_one_method() -> None:
    """Whoever overrides it sees all of them, whether there is a sink or not."""
    seen: list[str] = []

    class Watched(MetricsMiddleware):
        def emit(self, name: str, *_: Any) -> None:
            seen.append(name)

    await execute(Watched(), lambda *_: None)
    assert seen == ["ojs.jobs.duration_ms", "ojs.jobs.completed"]


async def test_metric_emit_hooks_of_a_worker_get_each_metric(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """RIVER's metric_emit: once each, however often the worker begins; a broken one is logged."""
    seen: list[Metric] = []

    class Watching:
        def metric_emit(self, metric: Metric) -> None:
            seen.append(metric)

    class Broken:
        def metric_emit(self, metric: Metric) -> None:
            raise OSError("down")

    worker = LambdaWorker(middleware=[MetricsMiddleware(Sink())], hooks=[Watching(), Broken()])
    worker.freeze()
    worker.freeze()
    executed = job(queue="email")
    await worker.middleware.run(executed, context(executed), lambda *_: None)
    assert [(metric.name, metric.attributes) for metric in seen] == [
        ("ojs.jobs.duration_ms", TAGS),
        ("ojs.jobs.completed", TAGS),
    ]
    assert "A metric_emit hook failed on ojs.jobs.completed" in caplog.text


# ------------------------------------------------------------------------------- OpenTelemetry
def collected(reader: InMemoryMetricReader) -> dict[str, Any]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


async def test_metrics_are_opentelemetry_s() -> None:
    """MW-BUILTIN-008: counters and a histogram of a Meter, with boundaries in milliseconds."""
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("test")
    metrics = MetricsMiddleware(OpenTelemetrySink(meter), clock=ticking(1.0, 1.2, 2.0, 2.1))
    for _ in range(2):
        await execute(metrics, lambda *_: None)
    found = collected(reader)
    (point,) = found["ojs.jobs.duration_ms"].data.data_points
    assert (point.count, point.sum) == (2, pytest.approx(300.0))
    assert (point.attributes, found["ojs.jobs.duration_ms"].unit) == (TAGS, "ms")
    assert point.explicit_bounds[0] == 5.0
    (count,) = found["ojs.jobs.completed"].data.data_points
    assert (count.value, count.attributes) == (2, TAGS)
    assert found["ojs.jobs.completed"].data.is_monotonic


def test_without_the_extra_the_sink_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """At construction, not when the first job comes."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"pip install 'ojs-aws\[telemetry\]'"):
        OpenTelemetrySink()
    assert default_sink({}) is None


def test_the_sink_is_chosen_by_where_it_runs() -> None:
    """EMF under Lambda, else OpenTelemetry where it is installed."""
    assert isinstance(default_sink({"AWS_LAMBDA_FUNCTION_NAME": "worker"}), EmfSink)
    assert isinstance(default_sink({}), OpenTelemetrySink)


# ---------------------------------------------------------------------------------------- EMF
class Lines:
    """Documents as they were written."""

    def __init__(self) -> None:
        self.documents: list[dict[str, Any]] = []

    def __call__(self, line: str) -> None:
        assert "\n" not in line
        self.documents.append(json.loads(line))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("METRICS_DISABLED", "DEV", "METRICS_NAMESPACE", "SERVICE_NAME"):
        monkeypatch.delenv(f"POWERTOOLS_{name}", raising=False)


async def test_jobs_of_one_invocation_become_one_document() -> None:
    """MW-BUILTIN-008: valid EMF; two dimensions, all values, one sum per counter."""
    lines = Lines()
    metrics = MetricsMiddleware(EmfSink(hold_s=0, write=lines))
    with metrics.invocation():
        for _ in range(3):
            await execute(metrics, lambda *_: None)
        with pytest.raises(OSError, match="x"):
            await execute(metrics, raising(OSError("x")))
        assert lines.documents == []
    (document,) = lines.documents
    (directive,) = document["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "OJS"
    assert directive["Dimensions"] == [["queue", "type"]]
    assert {m["Name"]: m["Unit"] for m in directive["Metrics"]} == {
        "ojs.jobs.duration_ms": "Milliseconds",
        "ojs.jobs.completed": "Count",
        "ojs.jobs.failed": "Count",
    }
    assert (document["type"], document["queue"]) == ("a.b", "email")
    assert len(document["ojs.jobs.duration_ms"]) == 4
    assert (document["ojs.jobs.completed"], document["ojs.jobs.failed"]) == ([3], [1])
    assert "01900000" not in json.dumps(document)


async def test_namespace_and_service_are_options_or_powertools_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The environment that the constructs set."""
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Shop")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "mailer")
    lines = Lines()
    await execute(MetricsMiddleware(EmfSink(hold_s=0, write=lines)), lambda *_: None)
    own = EmfSink("Mine", service="other", hold_s=0, write=lines)
    await execute(MetricsMiddleware(own), lambda *_: None)
    names = [
        (d["_aws"]["CloudWatchMetrics"][0]["Namespace"], d["service"]) for d in lines.documents
    ]
    assert names == [("Shop", "mailer"), ("Mine", "other")]


async def test_a_document_has_no_more_values_than_cloudwatch_takes() -> None:
    """A hundred of each metric; nothing is lost at the border."""
    lines = Lines()
    metrics = MetricsMiddleware(EmfSink(hold_s=0, write=lines))
    with metrics.invocation():
        for _ in range(250):
            await execute(metrics, lambda *_: None)
    durations = [len(d.get("ojs.jobs.duration_ms", ())) for d in lines.documents]
    assert max(durations) == 100
    assert sum(durations) == 250
    assert sum(d["ojs.jobs.completed"][0] for d in lines.documents) == 250


async def test_a_long_running_process_holds_values_for_a_time() -> None:
    """Idle moments do not make documents; the time does."""
    lines = Lines()
    written = threading.Event()

    def write(line: str) -> None:
        lines(line)
        written.set()

    metrics = MetricsMiddleware(EmfSink(hold_s=0.05, write=write))
    for _ in range(3):
        await execute(metrics, lambda *_: None)
    assert lines.documents == []
    assert await asyncio.to_thread(written.wait, 5)
    assert [d["ojs.jobs.completed"] for d in lines.documents] == [[3]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process cannot fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_writes_no_values_of_its_parent() -> None:
    """They would count twice; and its own are written in time, as in any process."""
    reading, writing = os.pipe()
    sink = EmfSink(hold_s=3600, write=lambda line: os.write(writing, line.encode()))
    sink.emit("ojs.jobs.completed", 1, "{job}", TAGS)
    child = os.fork()
    if child == 0:
        try:
            sink.emit("ojs.jobs.failed", 1, "{job}", TAGS)
            if sink._timer is not None and sink._timer.is_alive():
                sink.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as read:
        document = json.loads(read.read())
    assert "ojs.jobs.failed" in document
    assert "ojs.jobs.completed" not in document
    sink._timer.cancel()  # type: ignore[union-attr]


def test_a_sink_that_nobody_uses_is_forgotten() -> None:
    """Neither the exit of the process nor its timer keeps it."""
    sink = EmfSink(hold_s=3600, write=str)
    sink.emit("ojs.jobs.completed", 1, "{job}", TAGS)
    timer = sink._timer
    assert timer is not None
    timer.cancel()
    reference = weakref.ref(sink)
    del sink
    gc.collect()
    assert reference() is None


async def test_powertools_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the local server does."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
    lines = Lines()
    await execute(MetricsMiddleware(EmfSink(hold_s=0, write=lines)), lambda *_: None)
    assert lines.documents == []


async def test_the_application_s_own_metrics_are_left_alone() -> None:
    """Powertools' Metrics is one object for the process: neither side sees the other's."""
    from aws_lambda_powertools import Metrics

    own = Metrics(namespace="Shop", service="shop")
    own.add_dimension("country", "de")
    own.add_metric("Sold", unit="Count", value=1)
    try:
        lines = Lines()
        await execute(MetricsMiddleware(EmfSink(hold_s=0, write=lines)), lambda *_: None)
        assert "country" not in lines.documents[0]
        assert set(own.provider.metric_set) == {"Sold"}
    finally:
        own.clear_metrics()


def test_documents_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """Where Lambda's log takes them from."""
    sink = EmfSink()
    sink.emit("ojs.jobs.completed", 1, "{job}", TAGS)
    sink.flush()
    assert json.loads(capsys.readouterr().out)["ojs.jobs.completed"] == [1]


# -------------------------------------------------------------------------------- concurrency
async def run_many(metrics: MetricsMiddleware, offset: int) -> None:
    async def handler(*_: object) -> None:
        await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for n in range(offset, offset + 25):
            group.create_task(execute(metrics, handler, type=f"t{n % 5}"))


async def test_tasks_and_threads_share_one_instance() -> None:
    """MW-CHAIN-026: a hundred jobs of five types; no value is lost or counted elsewhere."""
    lines = Lines()
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("test")
    shared = [
        MetricsMiddleware(EmfSink(hold_s=0, write=lines)),
        MetricsMiddleware(OpenTelemetrySink(meter)),
    ]
    threads = [
        threading.Thread(target=asyncio.run, args=(run_many(metrics, 25 * n),))
        for n in range(4)
        for metrics in shared
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    emf: Counter[str] = Counter()
    for document in lines.documents:
        emf[document["type"]] += document.get("ojs.jobs.completed", [0])[0]
    expected = {f"t{n}": 20 for n in range(5)}
    assert emf == expected
    points = collected(reader)["ojs.jobs.completed"].data.data_points
    assert {point.attributes["type"]: point.value for point in points} == expected
