"""Show what each of three enqueue middleware adds to a job (middleware specification, 10.1).

    python examples/middleware/enqueue_flow.py

The same chain serves a client (``Client(url, middleware=chain)``) and PUSH in the backend
(``OJS_ENQUEUE_MIDDLEWARE=enqueue_flow:chain``). Here it runs by itself, around a list.
"""

from __future__ import annotations

import asyncio

from opentelemetry import context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ojs_aws import Job
from ojs_aws.client.timer import UuidV7
from ojs_aws.middleware import (
    DeduplicationMiddleware,
    EnqueueChain,
    LocaleMiddleware,
    TraceContextMiddleware,
)
from ojs_aws.middleware.builtin.propagation import LOCALE, TIMEZONE
from ojs_aws.middleware.protocols import EnqueueNext

REQUEST_HEADERS = {
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "tracestate": "rojo=00f067aa0ba902b7",
}
"""Headers of the request in which the job is enqueued: the job continues its trace."""


def shows(title: str, *keys: str) -> object:
    """Return a middleware that prints some of the metadata of each job."""

    async def show(job: Job, call_next: EnqueueNext) -> Job | None:
        print(title, job.type, *(f"meta.{key}={job.meta.get(key)}" for key in keys))
        return await call_next(job)

    return show


chain = EnqueueChain()
chain.add(shows("Input:"))
chain.add(TraceContextMiddleware)
chain.add(shows("After TraceContextMiddleware:", "traceparent", "tracestate"))
chain.add(LocaleMiddleware)
chain.add(shows("After LocaleMiddleware:", "locale", "timezone"))
chain.add(DeduplicationMiddleware(only_unique=True))
chain.add(shows("DeduplicationMiddleware lets pass:"))


async def main() -> None:
    """Enqueue a job without a unique policy, and one with such a policy twice."""
    context.attach(TraceContextTextMapPropagator().extract(REQUEST_HEADERS))
    LOCALE.set("en-US")
    TIMEZONE.set("America/New_York")
    stored: list[Job] = []

    def store(job: Job) -> Job:
        stored.append(job)
        return job

    email = Job(
        "email.send",
        ["user@example.com", "welcome"],
        id="019539a4-b68c-7def-8000-1a2b3c4d5e6f",
    )
    await chain.run(email, store)
    print(f"Enqueued: {email.type} {email.args} in {email.queue}, meta {sorted(email.meta)}")

    for _ in range(2):
        report = Job("report.build", [7], id=UuidV7().job_id(), unique={"keys": ["type", "args"]})
        _, dropped_by = await chain.run_tracked(report, store)
        print(f"report.build: {'dropped by ' + dropped_by if dropped_by else 'enqueued'}")
    print(f"{len(stored)} jobs stored")


if __name__ == "__main__":
    asyncio.run(main())
