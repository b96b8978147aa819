"""A job, its context, and middleware that write down when they run."""

from __future__ import annotations

from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext

JOB_ID = "01900000-0000-7000-8000-000000000001"


def job(*args: Any, **members: Any) -> Job:
    """A job as a chain gets it."""
    given = {"id": JOB_ID} | members
    return Job(given.pop("type", "a.b"), list(args), **given)


def context(executed: Job | None = None, **given: Any) -> JobContext:
    """The context of an execution."""
    return JobContext(executed or job(attempt=1), **given)


async def store(kept: Job) -> Job:
    """Accepts every job."""
    return kept


class Traced:
    """Passes on, and notes it before and after; serves both chains."""

    def __init__(self, trace: list[str], label: str) -> None:
        self.trace = trace
        self.name = label

    async def enqueue(self, job: Job, call_next: Any) -> Job | None:
        self.trace.append(f"{self.name}-in")
        result: Job | None = await call_next(job)
        self.trace.append(f"{self.name}-out")
        return result

    async def execute(self, job: Job, ctx: JobContext, call_next: Any) -> object:
        self.trace.append(f"{self.name}-in")
        try:
            return await call_next()
        finally:
            self.trace.append(f"{self.name}-out")
