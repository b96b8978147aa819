"""Three enqueue middleware, and what each adds to a job (middleware specification, 10.1).

    python examples/middleware/enqueue_flow.py

The same chain serves a client (``Client(url, middleware=chain)``) and PUSH in the backend
(``OJS_ENQUEUE_MIDDLEWARE=enqueue_flow:chain``). Here it runs by itself, around a list.
"""

from __future__ import annotations

import asyncio

from opentelemetry.sdk.trace import TracerProvider

from ojs_aws import Job
from ojs_aws.client.ids import UuidV7
from ojs_aws.middleware import (
    DeduplicationMiddleware,
    EnqueueChain,
    LocaleMiddleware,
    TraceContextMiddleware,
)
from ojs_aws.middleware.propagation import LOCALE, TIMEZONE
from ojs_aws.middleware.protocols import EnqueueNext

TRACER = TracerProvider()


def shows(title: str) -> object:
    """A middleware that prints the metadata of each job that comes by."""

    async def show(job: Job, call_next: EnqueueNext) -> Job | None:
        print(f"{title}: meta has {', '.join(sorted(job.meta)) or 'nothing'}")
        return await call_next(job)

    return show


chain = EnqueueChain(
    [
        shows("Input"),
        TraceContextMiddleware(tracer_provider=TRACER),
        shows("After TraceContextMiddleware"),
        LocaleMiddleware(),
        shows("After LocaleMiddleware"),
        DeduplicationMiddleware(window_s=60),
        shows("After DeduplicationMiddleware"),
    ]
)


async def main() -> None:
    """Enqueue one job, and a unique one twice."""
    stored: list[Job] = []
    ids = UuidV7()

    def store(job: Job) -> Job:
        stored.append(job)
        return job

    LOCALE.set("en-US")
    TIMEZONE.set("America/New_York")

    job = Job("email.send", ["user@example.com", "welcome"], id=ids.job_id())
    await chain.run(job, store)
    print(f"Enqueued with locale {job.meta['locale']}, timezone {job.meta['timezone']}")

    for _ in range(2):
        report = Job("report.build", [7], id=ids.job_id(), unique={"keys": ["type", "args"]})
        _, dropped_by = await chain.run_tracked(report, store)
        print(f"report.build: {'dropped by ' + dropped_by if dropped_by else 'enqueued'}")
    print(f"{len(stored)} jobs stored")


if __name__ == "__main__":
    asyncio.run(main())
