"""A job, its context, and middleware that write down when they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ojs_aws.client import Client
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.requests import Transport
from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.chain import run_coroutine
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.middleware.hooks import Hooks
from tests.jobs import any_job

JOB_ID = "01900000-0000-7000-8000-000000000001"


def job(*args: Any, **members: Any) -> Job:
    """A job as a chain gets it."""
    given = {"id": JOB_ID} | members
    return any_job(given.pop("type", "a.b"), list(args), **given)


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


def enqueue_sync(
    chain: EnqueueChain, given: Job, store: Any, hooks: Hooks | None = None
) -> tuple[Job | None, str]:
    """Run a chain from synchronous code, as PUSH does."""
    enqueuing = Enqueuer(chain, hooks)
    return run_coroutine(enqueuing.one(given, store), never_waits=enqueuing.never_waits)


class FakeTransport:
    """Stores every job: ``pushed`` one by one, ``batches`` together."""

    def __init__(self) -> None:
        self.pushed: list[Job] = []
        self.batches: list[list[Job]] = []

    async def push(self, job: Job) -> Stored:
        self.pushed.append(job)
        return Stored(job)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        self.batches.append([*jobs])
        return [Stored(job) for job in jobs]


def client_with(transport: FakeTransport, **options: Any) -> Client:
    """A client whose jobs end in a list."""
    return Client(transport=cast("Transport", transport), **options)
