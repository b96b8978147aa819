"""Trace jobs through both chains (middleware specification, 8.1.5 and 10.2).

The attributes are those of ojs-observability, section 7, and ojs-distributed-tracing, section 5.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal

from ojs_aws._version import __version__
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.jobs.failures import MAX_MESSAGE_CHARACTERS
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.protocols import BatchNext, EnqueueNext, ExecutionNext
from ojs_aws.middleware.results import (
    NO_FAILURES,
    TIMEOUT,
    EnqueueResult,
    message_of,
    missing_extra,
    outcome_of,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext, TracerProvider

EXECUTE_SPAN: Final = "ojs.job.execute"
SEVERAL_QUEUES: Final = "several"
XRAY_VARIABLE: Final = "_X_AMZN_TRACE_ID"

NO_ATTRIBUTES: Final[Mapping[str, int]] = {}

_FIELDS: Final = ("traceparent", "tracestate", "baggage")

_logger = logging.getLogger(__name__)


class TraceContextMiddleware:
    """Carries W3C trace context in ``meta.traceparent`` and ``meta.tracestate``.

    ``meta.trace_id`` and ``meta.span_id`` say the same for those who do not read a traceparent.

    Enqueueing is a PRODUCER span ``<queue> enqueue`` whose context goes into ``meta``; the spans of
    a batch have one parent, ``<queue> enqueue_batch``. Nothing is injected where there is no trace:
    no active span, and no SDK that starts one. A job that has a valid traceparent already keeps it,
    and gets no span, so that a backend passes on what the client sent.

    An execution whose job has a traceparent is a CONSUMER span ``ojs.job.execute``, current while
    the handler runs; any other job runs without a span. Its relation to the enqueue span is a
    choice: ``child`` (the default, of the middleware specification) makes it one trace; ``link``
    (of ojs-observability) keeps the worker's trace apart, for jobs that wait long. Both link to
    the enqueue span.

    Under Lambda, where no span is active, the X-Ray header of the invocation stands for one. A
    traceparent that cannot be read is taken as none, and never fails a job.

    Place it outermost: then records of the logging middleware have the trace's id. The ids are in
    ``ctx.metadata`` as ``trace_id`` and ``span_id``.
    """

    never_waits = True

    def __init__(
        self,
        *,
        relation: Literal["child", "link"] = "child",
        baggage: bool = False,
        tracer_provider: TracerProvider | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Trace through OpenTelemetry's API.

        :param relation: of the execution's span to the enqueue span; see the class.
        :param baggage: carry W3C baggage in ``meta.baggage`` too, at most 8192 bytes of it.
        :param tracer_provider: by default the global one.
        :param environ: where the X-Ray header of the invocation is looked up for each job;
            by default the process's.
        :raises ImportError: the extra ``telemetry`` is not installed.
        :raises ValueError: no such relation.
        """
        if relation not in ("child", "link"):
            raise ValueError(f"relation is 'child' or 'link', not {relation!r}")
        try:
            from opentelemetry import context, trace  # an extra
            from opentelemetry.baggage.propagation import W3CBaggagePropagator
            from opentelemetry.propagators.aws import AwsXRayPropagator
            from opentelemetry.trace.propagation.tracecontext import (
                TraceContextTextMapPropagator,
            )
        except ImportError as missing:
            raise missing_extra("TraceContextMiddleware", "telemetry") from missing
        self._context = context
        self._trace = trace
        self._w3c = TraceContextTextMapPropagator()
        self._baggage = W3CBaggagePropagator() if baggage else None
        self._xray = AwsXRayPropagator()
        self._tracer = trace.get_tracer("ojs_aws", __version__, tracer_provider)
        self._is_child = relation == "child"
        self._environ = os.environ if environ is None else environ

    # ------------------------------------------------------------------ enqueueing
    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Enqueue inside a span whose context the job carries."""
        if self._remote(job) is not None:
            return await call_next(job)
        span = self._tracer.start_span(
            f"{job.queue} enqueue",
            self._here(),
            self._trace.SpanKind.PRODUCER,
            _attributes(job, job.queue, "publish"),
        )
        with self._inside(span):
            self._inject(job)
            stored = await call_next(job)
            if stored is not None and stored.queue != job.queue:
                span.update_name(f"{stored.queue} enqueue")
                span.set_attributes(_attributes(stored, stored.queue, "publish"))
            return stored

    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
        """Enqueue a batch inside a span, the parent of those of its jobs."""
        if len(jobs) == 1 or all(self._remote(job) is not None for job in jobs):
            return await call_next(jobs)
        queues = {job.queue for job in jobs}
        queue = queues.pop() if len(queues) == 1 else SEVERAL_QUEUES
        span = self._tracer.start_span(
            f"{queue} enqueue_batch",
            self._here(),
            self._trace.SpanKind.PRODUCER,
            {
                "messaging.system": "ojs",
                "messaging.operation.type": "publish",
                "messaging.destination.name": queue,
                "messaging.batch.message_count": len(jobs),
            },
        )
        with self._inside(span):
            return await call_next(jobs)

    def _inject(self, job: Job) -> None:
        """Write the current context into ``meta``; one that is no object is left to be refused."""
        known = self._trace.get_current_span().get_span_context()
        if not known.is_valid:
            return
        if job.get("meta") is not None and not isinstance(job["meta"], dict):
            return
        carrier: dict[str, str] = {}
        self._w3c.inject(carrier)
        if self._baggage is not None:
            self._baggage.inject(carrier)
        meta = job.meta
        meta.pop("tracestate", None)  # of a traceparent that could not be read
        meta.update(carrier)
        meta["trace_id"] = self._trace.format_trace_id(known.trace_id)
        meta["span_id"] = self._trace.format_span_id(known.span_id)

    # ------------------------------------------------------------------ execution
    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Execute inside a span that is connected to the one of the job's enqueueing."""
        remote = self._remote(job)
        if remote is None:
            return await call_next()
        span = self._start_execution(job, ctx, remote)
        known = span.get_span_context()
        if known.is_valid:
            ctx.metadata["trace_id"] = self._trace.format_trace_id(known.trace_id)
            ctx.metadata["span_id"] = self._trace.format_span_id(known.span_id)
        with self._inside(span, remote, {"ojs.job.error.attempt": ctx.attempt}):
            return await call_next()

    def _start_execution(self, job: Job, ctx: JobContext, remote: Context) -> Span:
        trace, here = self._trace, self._here()
        linked = [_span_context(trace.get_current_span(remote))]
        active = _span_context(trace.get_current_span(here))
        if self._is_child and active.is_valid:
            linked.append(active)
        attributes = _attributes(job, ctx.queue, "process") | {"ojs.job.attempt": ctx.attempt}
        return self._tracer.start_span(
            EXECUTE_SPAN,
            remote if self._is_child else here,
            trace.SpanKind.CONSUMER,
            attributes,
            [trace.Link(context) for context in linked],
        )

    # ------------------------------------------------------------------ contexts
    @contextmanager
    def _inside(
        self, span: Span, base: Context | None = None, of_failure: Mapping[str, int] = NO_ATTRIBUTES
    ) -> Iterator[None]:
        """Make a span current, with the baggage of ``base``; it ends here, and says how.

        :param of_failure: attributes that it gets where it fails.
        """
        token = self._context.attach(self._trace.set_span_in_context(span, base))
        try:
            yield
        except BaseException as problem:
            if outcome_of(problem) in NO_FAILURES:  # an intentional end is no error
                span.set_status(self._trace.StatusCode.OK)
            else:
                self._fail(span, problem)
                span.set_attributes(of_failure)
            raise
        else:
            span.set_status(self._trace.StatusCode.OK)
        finally:
            self._context.detach(token)
            span.end()

    def _here(self) -> Context:
        """Return the current context; where no span is active, that of the X-Ray header."""
        current = self._context.get_current()
        header = self._environ.get(XRAY_VARIABLE)
        if not header or self._trace.get_current_span(current).get_span_context().is_valid:
            return current
        with suppress(Exception):  # a header that cannot be read is none
            return self._xray.extract({"X-Amzn-Trace-Id": header}, current)
        _logger.debug("The X-Ray header %r cannot be read", header)
        return current

    def _remote(self, job: Job) -> Context | None:
        """Return the context that the job carries; None if it carries no valid traceparent."""
        meta = job.get("meta")
        if not isinstance(meta, dict) or "traceparent" not in meta:
            return None
        values = {name: meta.get(name) for name in _FIELDS}
        carrier = {name: value for name, value in values.items() if isinstance(value, str)}
        with suppress(Exception):  # a malformed traceparent is none
            context = self._w3c.extract(
                carrier, self._trace.set_span_in_context(self._trace.INVALID_SPAN)
            )
            if self._trace.get_current_span(context).get_span_context().is_valid:
                return context if self._baggage is None else self._baggage.extract(carrier, context)
        _logger.debug("Job %s has a traceparent that cannot be read", job.id)
        return None

    def _fail(self, span: Span, problem: BaseException) -> None:
        message = message_of(problem)[:MAX_MESSAGE_CHARACTERS]
        is_timeout = outcome_of(problem) == TIMEOUT
        span.record_exception(problem)
        span.set_status(self._trace.StatusCode.ERROR, message)
        span.set_attribute("error.type", TIMEOUT if is_timeout else type(problem).__name__)
        span.set_attribute("error.message", message)


def _span_context(span: Span) -> SpanContext:
    return span.get_span_context()


def _attributes(job: Job, queue: str, operation: str) -> dict[str, str | int]:
    return {
        "messaging.system": "ojs",
        "messaging.operation.type": operation,
        "messaging.destination.name": queue,
        "messaging.message.id": job.id,
        "ojs.job.id": job.id,
        "ojs.job.type": job.type,
        "ojs.job.queue": queue,
        "ojs.job.priority": job.priority,
    }
