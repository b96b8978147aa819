"""Use one middleware and one hook in client, backend and worker.

The class is written once. Its methods decide where it runs: around each job that is enqueued,
around the insertion of a whole batch, and around each execution. The hook needs no class.

    ojs-aws middleware examples.middleware.audit:extensions    # prints the chains and hooks

In the client and the worker:

    client = Client(url, middleware=extensions.enqueuing, hooks=extensions.hooks)
    worker = Worker(url, middleware=extensions.execution, hooks=extensions.hooks)

In the backend, for every client of any language (a construct prop names it when deployed):

    OJS_ENQUEUE_MIDDLEWARE=examples.middleware.audit:backend_chain ojs-aws local
"""

from __future__ import annotations

import getpass
import logging

from ojs_aws import Job
from ojs_aws.middleware import (
    EnqueueChain,
    EnqueueResult,
    Extensions,
    JobContext,
    LoggingMiddleware,
    check,
    hook,
)
from ojs_aws.middleware.protocols import BatchNext, EnqueueNext, ExecutionNext

log = logging.getLogger("audit")


class Audit:
    """Stores in a job who enqueued it, and logs each execution with this name."""

    def __init__(self, user: str | None = None) -> None:
        self.user = user or getpass.getuser()

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Run around each job: pass it on, return None to drop it, or raise an error."""
        job.meta.setdefault("enqueued_by", self.user)
        return await call_next(job)

    async def enqueue_many(self, jobs: list[Job], call_next: BatchNext) -> list[EnqueueResult]:
        """Run around the whole insertion; a single job is a batch of one."""
        results = await call_next(jobs)
        log.info("%d of %d jobs enqueued", sum(r.is_enqueued for r in results), len(results))
        return results

    async def execute(self, job: Job, ctx: JobContext, call_next: ExecutionNext) -> object:
        """Run around each execution: return its result; an error fails the job."""
        log.info("%s for %s, attempt %d", job.type, job.meta.get("enqueued_by"), ctx.attempt)
        return await call_next()


@hook("insert_begin", job_type="email.send")
def refuses_blocked_receivers(job: Job) -> None:
    """Run right before such a job is stored; an error refuses it."""
    if str(job.args[0]).endswith("@blocked.example"):
        raise ValueError("we do not write to that domain")


extensions = Extensions([Audit(), refuses_blocked_receivers])
backend_chain = EnqueueChain([LoggingMiddleware(), Audit("backend")])

if __name__ == "__main__":
    print(check(Audit("somebody")))
