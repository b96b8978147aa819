"""Give endpoints clients of jobs, their context, and jobs that are sent after the response."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Final, ParamSpec, TypeAlias, TypeVar

import anyio
from fastapi import Depends
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection

from ojs_aws.client import Client, EnqueueResult, SyncClient
from ojs_aws.client.timer import UuidV7
from ojs_aws.contrib.outbox.staged_jobs import AnyJob
from ojs_aws.contrib.request_meta import HEADER, AddRequestMeta, request_context
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.typed_jobs.senders import Sender

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ojs_aws.contrib.sqlalchemy import Outbox


EnqueueMany = Callable[[Sequence[Job]], Awaitable[list[EnqueueResult]]]
_logger: Final = logging.getLogger("ojs_aws.contrib.fastapi")


class RequestContext:
    """Gives each request an id and its trace, which the jobs that it enqueues have in ``meta``.

    ``meta["ojs.context.request_id"]`` is the header ``X-Request-ID``, else a new id; the response
    has the same header. ``meta["traceparent"]`` and ``meta["tracestate"]`` are the headers of W3C
    Trace Context, unless the client's ``TraceContextMiddleware`` wrote those of its own span.

    Example::

        app.add_middleware(RequestContext)
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand around an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with its context."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        with request_context(lambda name: ",".join(headers.getlist(name))) as request_id:

            async def send_with_id(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message).setdefault(HEADER, request_id)
                await send(message)

            await self._app(scope, receive, send_with_id)


A = TypeVar("A", bound=Starlette)
State: TypeAlias = Mapping[str, object]
JOBS: Final = "ojs_jobs"
"""The member of the application's state that has its jobs."""


def lifespan(
    jobs: Jobs,
    *more: Jobs,
    inner: Callable[[A], AbstractAsyncContextManager[State | None]] | None = None,
    outbox: Outbox | None = None,
) -> Callable[[A], AbstractAsyncContextManager[State]]:
    """Return a lifespan, which opens the clients of jobs, and closes them at the end.

    The jobs that a request enqueues get its id and trace: see :class:`RequestContext`.

    Example::

        app = FastAPI(lifespan=lifespan(jobs, inner=own_lifespan))

    :param jobs: whose client :data:`JobClient` is.
    :param more: further collections of jobs.
    :param inner: the application's own lifespan. It runs while the clients are open, and its state
        is kept.
    :param outbox: whose built-in relay ends with the application, before the clients.
    :raises ValueError: nothing says where the server is; the application does not start.
    """

    @asynccontextmanager
    async def opened(app: A) -> AsyncIterator[State]:
        async with AsyncExitStack() as stack:
            for each in (jobs, *more):
                await stack.enter_async_context(each.open(AddRequestMeta()))
            if outbox is not None:
                stack.push_async_callback(run_in_threadpool, outbox.close)
            state = await stack.enter_async_context(inner(app)) if inner is not None else None
            yield {**(state or {}), JOBS: jobs}

    return opened


def jobs_of(connection: HTTPConnection) -> Jobs:
    """Return the jobs whose clients the application has opened.

    :raises RuntimeError: it has opened none.
    """
    found = getattr(connection.state, JOBS, None)
    if not isinstance(found, Jobs):
        raise RuntimeError(
            "The application has opened no jobs: write FastAPI(lifespan=lifespan(jobs)), with "
            "lifespan of ojs_aws.contrib.fastapi. In a test, the lifespan runs in: "
            "with TestClient(app) as http."
        )
    return found


async def job_client(connection: HTTPConnection) -> Client:
    """Return the client of the application's jobs, which stays open; for ``async def``."""
    return jobs_of(connection).client()


def sync_job_client(connection: HTTPConnection) -> SyncClient:
    """Return the client of the application's jobs, which stays open; for ``def``."""
    return jobs_of(connection).sync_client()


JobClient = Annotated[Client, Depends(job_client)]
"""The client, as a parameter of an ``async def`` endpoint: ``client: JobClient``."""
SyncJobClient = Annotated[SyncClient, Depends(sync_job_client)]
"""The client, as a parameter of an endpoint without ``async``."""


async def enqueue_or_log(jobs: Sequence[Job], enqueue_many: EnqueueMany) -> None:
    """Enqueue jobs in one request; log each that was not enqueued, with its id, and raise nothing.

    If the backend refuses the batch for good, each job is sent alone, so that one does not cost
    the others.
    """
    if not jobs:
        return
    try:
        results = await enqueue_many(jobs)
    except Exception as problem:  # noqa: BLE001 - the response, or the commit, is done
        if len(jobs) > 1 and isinstance(problem, OjsError) and not problem.retryable:
            for job in jobs:
                await enqueue_or_log([job], enqueue_many)
            return
        for job in jobs:
            _log(job, problem)
        return
    for result in results:
        if result.error is not None:
            _log(result.job, result.error)


def _log(job: Job, problem: BaseException) -> None:
    """Log that a job is lost; never its arguments, which may be secret."""
    _logger.error(
        "Job %s (%s) was not enqueued: %s",
        job.id,
        job.type,
        problem,
        extra={"job_id": job.id, "job_type": job.type},
        exc_info=problem,
    )


P = ParamSpec("P")
R = TypeVar("R")


class LaterJobs:
    """Collects the jobs of a request that are enqueued after its response.

    :ivar jobs: in the order in which they were added.
    """

    def __init__(self) -> None:
        """Start without jobs."""
        self.jobs: list[Job] = []

    def add_task(self, job: Sender[P, R], /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Enqueue a job with these arguments, after the response.

        Example::

            later.add_task(send_welcome, "ada@example.com")
            later.add_task(send_welcome.options(delay="10m"), "bob@example.com")

        :returns: the id of the job.
        :raises TypeError: as :meth:`~ojs_aws.typed_jobs.senders.Sender.call`.
        """
        return self.add(job.call(*args, **kwargs))

    def add(self, job: AnyJob) -> str:
        """Enqueue a call of a typed job, or a whole ``Job``, after the response.

        :returns: the id of the job.
        """
        made = Job.from_members(job.members()) if isinstance(job, Job) else job.to_job()
        if not made.id:
            made.id = UuidV7().job_id()
        self.jobs.append(made)
        return made.id


async def later_jobs(connection: HTTPConnection) -> AsyncIterator[LaterJobs]:
    """Collect jobs while an endpoint runs, and enqueue them after its response.

    FastAPI ends a dependency with ``yield`` after the response. If the endpoint raised, or a unit
    of work did not commit, it raises here as well, and nothing is enqueued.
    """
    client = jobs_of(connection).client()
    later = LaterJobs()
    yield later
    with anyio.CancelScope(shield=True):  # the caller may be gone by now
        await enqueue_or_log(later.jobs, client.enqueue_many)


EnqueueLater = Annotated[LaterJobs, Depends(later_jobs)]
"""The parameter of an endpoint that collects its jobs: ``later: EnqueueLater``."""
