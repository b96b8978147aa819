"""Enqueue middleware and hooks that the end-to-end tests deploy; they touch only their own jobs."""

from __future__ import annotations

import logging

from ojs_aws import Job
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.middleware import EnqueueChain, HookEvent, Hooks, LoggingMiddleware, hook
from ojs_aws.middleware.protocols import EnqueueNext

TYPE = "policies.checked"


class Policies:
    """Stamps, drops or refuses jobs of one type, as their first argument says."""

    never_waits = True

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Act on jobs of the type."""
        if job.type == TYPE:
            if job.args == ["drop"]:
                return None
            if job.args == ["refuse"]:
                raise InvalidRequestError("Refused by policy.", details={"field": "args"})
            job.meta["stamped_by"] = "policies"
        return await call_next(job)


@hook("insert_begin", job_type=TYPE)
def counts_words(job: Job) -> None:
    """Called in the producer."""
    job.meta["words"] = len(job.args)


@hook("cancelled", job_type=TYPE)
def logs(event: HookEvent) -> None:
    """Called in the stream function."""
    logging.getLogger("ojs_aws.policies").error("saw %s %s", event.type, event.subject)


chain = EnqueueChain([LoggingMiddleware(), Policies()])
hooks = Hooks([counts_words, logs])
