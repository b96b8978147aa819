"""Run a handler in a whole production chain (middleware specification, 10.2 and 10.3).

    python examples/middleware/production_stack.py            # the handler succeeds
    python examples/middleware/production_stack.py --fail     # it cannot reach its mail server

In a worker the chain is ``Worker(url, middleware=chain)``, and the worker applies the retry policy
to an error that leaves the chain. Here it runs by itself, around one job.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from ojs_aws import Job
from ojs_aws.middleware import (
    ErrorReport,
    ErrorReportingMiddleware,
    ExecutionChain,
    JobContext,
    LoggingMiddleware,
    MetricsMiddleware,
    TimeoutMiddleware,
    TraceContextMiddleware,
)


class PrintedMetrics:
    """Prints metrics; in production use OpenTelemetry or CloudWatch, which need no code."""

    def emit(self, name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
        shown = "..." if unit == "ms" else f"+{value:g}"
        print(f"metric {name} {shown} type={attributes['type']} queue={attributes['queue']}")

    def idle(self) -> None:
        """Do nothing: no metric is held back."""


class PrintedSpans(SpanExporter):
    """Prints spans."""

    def export(self, spans: object) -> SpanExportResult:
        for span in spans if isinstance(spans, (list, tuple)) else ():
            if isinstance(span, ReadableSpan) and span.context:
                print(
                    f"span {span.name} {span.status.status_code.name}"
                    f" trace={span.context.trace_id:032x} events={[e.name for e in span.events]}"
                )
        return SpanExportResult.SUCCESS


def to_tracker(report: ErrorReport) -> None:
    """Print the report; in production, call Sentry or Rollbar here."""
    print(f"report {report.type}: {report.message} (job {report.job_type}, {report.attempt=})")


tracing = TracerProvider()
tracing.add_span_processor(SimpleSpanProcessor(PrintedSpans()))

chain = ExecutionChain()
chain.add(ErrorReportingMiddleware(to_tracker))  # outermost: it sees every error
chain.add(LoggingMiddleware())
chain.add(MetricsMiddleware(PrintedMetrics()))
chain.add(TraceContextMiddleware(tracer_provider=tracing))
chain.add(TimeoutMiddleware())  # innermost: directly around the handler


async def send(job: Job, ctx: JobContext) -> dict[str, str]:
    """Handle the job."""
    ctx.log("info", "Sending")
    if "--fail" in sys.argv:
        raise ConnectionError("SMTP connection refused")
    return {"message_id": "msg_abc123", "to": str(job.args[0])}


async def main() -> None:
    """Execute one job as a worker would."""
    logging.basicConfig(
        level=logging.INFO, format="log %(levelname)s %(message)s", stream=sys.stdout
    )
    job = Job(
        "email.send",
        ["user@example.com", "welcome"],
        id="019539a4-b68c-7def-8000-1a2b3c4d5e6f",
        queue="email",
        timeout_s=30,
        meta={
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "locale": "en-US",
        },
    )
    try:
        print("result", await chain.run(job, JobContext(job), send))
    except ConnectionError as problem:
        print(f"the worker gets {type(problem).__name__}, and the retry policy applies")


if __name__ == "__main__":
    asyncio.run(main())
