"""Count and time enqueueing and execution (specification, 8.1.2; ojs-observability, 8)."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, ParamSpec

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.builtin.metric_sinks import (
    JOBS,
    EmfSink,
    MetricSink,
    OpenTelemetrySink,
)
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.hook_values import Metric
from ojs_aws.middleware.protocols import EnqueueNext, ExecutionNext
from ojs_aws.middleware.results import COMPLETED as SUCCESS
from ojs_aws.middleware.results import FAILED, NO_FAILURES, TIMEOUT, outcome_of

DURATION: Final = "ojs.jobs.duration_ms"
COMPLETED: Final = "ojs.jobs.completed"
FAILURES: Final = "ojs.jobs.failed"
TIMEOUTS: Final = "ojs.jobs.timeout"
ENQUEUED: Final = "ojs.job.enqueued"
ENQUEUE_DURATION: Final = "ojs.job.enqueue_duration"

OTHER: Final = "other"
MAX_SERIES: Final = 500

P = ParamSpec("P")

_logger = logging.getLogger(__name__)


class MetricsMiddleware:
    """Counts and times jobs by type and queue.

    Around an execution: ``ojs.jobs.duration_ms`` (a histogram), and one of ``ojs.jobs.completed``
    and ``ojs.jobs.failed``; ``ojs.jobs.timeout`` counts the failures that were timeouts. Around
    enqueueing, where the middleware is added to that chain: ``ojs.job.enqueued`` and
    ``ojs.job.enqueue_duration`` (seconds, by queue).

    The number of time series is bounded: the tags are type and queue. The first ``max_series``
    pairs of them keep their names; all later ones are counted as ``other``. A job that its worker
    gave up (cancelled, shutdown) has no outcome and is not counted. If a sink fails, its metrics
    are lost, but no job fails.

    Place it around the timeout middleware. Within it, it does not see timeouts.
    """

    never_waits = True

    def __init__(
        self,
        sink: MetricSink | None = None,
        *,
        max_series: int = MAX_SERIES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Send metrics to ``sink``; by default to the one that :func:`default_sink` returns now.

        :param max_series: pairs of type and queue that keep their names.
        :param clock: monotonic seconds.
        """
        self._sink = default_sink() if sink is None else sink
        self._max_series = max_series
        self._clock = clock
        self._lock = threading.Lock()
        self._series: set[tuple[str, str]] = set()
        self._listeners: tuple[Callable[[Metric], None], ...] = ()
        self._running = 0
        self._has_complained = False

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Count a job that was stored, and measure how many seconds that took."""
        self._enter()
        try:
            started = self._clock()
            stored = await call_next(job)
            if stored is not None:
                tags = self._tags(stored.type, stored.queue)
                self.emit(ENQUEUED, 1, JOBS, tags)
                seconds = self._clock() - started
                self.emit(ENQUEUE_DURATION, seconds, "s", {"queue": tags["queue"]})
            return stored
        finally:
            self._leave()

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Time an execution, and count its outcome."""
        self._enter()
        started = self._clock()
        try:
            result = await call_next()
        except BaseException as problem:
            outcome = outcome_of(problem)
            if outcome not in NO_FAILURES:
                self._record(job, ctx, outcome, started)
            raise
        else:
            self._record(job, ctx, SUCCESS, started)
            return result
        finally:
            self._leave()

    def _record(self, job: Job, ctx: JobContext, outcome: str, started: float) -> None:
        tags = self._tags(job.type, ctx.queue)
        self.emit(DURATION, (self._clock() - started) * 1000, "ms", tags)
        is_failure = outcome in (FAILED, TIMEOUT)
        self.emit(FAILURES if is_failure else COMPLETED, 1, JOBS, tags)
        if outcome == TIMEOUT:
            self.emit(TIMEOUTS, 1, JOBS, tags)

    def emit(self, name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
        """Pass one value on; every metric of this middleware goes through here.

        :param unit: ``{job}`` for counters, ``ms`` or ``s`` for histograms.
        """
        if self._sink is not None:
            self._tell(self._sink.emit, name, value, unit, attributes)
        for listener in self._listeners:
            try:
                listener(Metric(name, value, unit, dict(attributes)))
            except Exception:
                _logger.exception("A metric_emit hook failed on %s", name)

    def listen(self, listener: Callable[[Metric], None]) -> None:
        """Pass each metric to ``listener``, too. Workers connect their ``metric_emit`` hooks so.

        A listener that is added twice gets each metric once.
        """
        with self._lock:
            if listener not in self._listeners:
                self._listeners = (*self._listeners, listener)

    @contextmanager
    def invocation(self) -> Iterator[None]:
        """Let the sink write once, after everything that one invocation executes.

        LambdaWorker enters it for each batch, so that a batch is written as one.
        """
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            self._running += 1

    def _leave(self) -> None:
        with self._lock:
            self._running -= 1
            is_last = self._running == 0
        if is_last and self._sink is not None:
            self._tell(self._sink.idle)

    def _tags(self, job_type: str, queue: str) -> dict[str, str]:
        pair = (job_type, queue)
        if pair not in self._series:
            with self._lock:
                if len(self._series) >= self._max_series:
                    return {"type": OTHER, "queue": OTHER}
                self._series.add(pair)
        return {"type": job_type, "queue": queue}

    def _tell(self, call: Callable[P, object], *args: P.args, **named: P.kwargs) -> None:
        """Call the sink, and catch its errors, so that no job fails for its metrics.

        Only the first error is logged: a broken sink would fill the log.
        """
        try:
            call(*args, **named)
        except Exception:
            if not self._has_complained:
                self._has_complained = True
                _logger.exception(
                    "Metrics are lost: the sink failed. Later failures are not logged"
                )


def default_sink(environ: Mapping[str, str] | None = None) -> MetricSink | None:
    """Return a sink for EMF under Lambda, else for OpenTelemetry if it is installed, else None."""
    if "AWS_LAMBDA_FUNCTION_NAME" in (os.environ if environ is None else environ):
        return EmfSink()
    if importlib.util.find_spec("opentelemetry") is None:
        return None
    try:
        return OpenTelemetrySink()
    except ImportError:  # another package of that namespace
        return None
