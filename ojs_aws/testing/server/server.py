"""Runs tests against a real server: the local one, in a process of its own (ojs-testing, 5.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self, TypeVar

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.connection import HttpConnection, HttpTransport
from ojs_aws.client.transports.requests import Answer, RouteRequest, Transport
from ojs_aws.client.transports.substitute import activate, deactivate
from ojs_aws.config import describe_settings
from ojs_aws.domain.envelope import Job
from ojs_aws.testing.handlers import JobHandlers
from ojs_aws.testing.jobs import EnqueuedJob
from ojs_aws.testing.mistakes import Place, nearest
from ojs_aws.testing.outcome_assertions import ExecutionAssertions
from ojs_aws.testing.server.processes import (
    Handlers,
    ServerChild,
    ServerError,
    WorkerThread,
    worker_for,
)
from ojs_aws.testing.server.waits import Waits
from ojs_aws.worker.polling import Worker

PREFIX: Final = "OJS_"


def checked_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings, as environment variables of the server.

    :raises TypeError: a value is no string, as it would be in the environment.
    :raises ValueError: the backend has no such setting.
    """
    known = [variable for variable, _, _ in describe_settings()]
    for name, value in settings.items():
        if name.startswith(PREFIX) and name not in known:
            raise ValueError(
                f"The backend has no setting {name}.{nearest(name, known)} "
                "The README lists all settings."
            )
        if not isinstance(value, str):
            raise TypeError(f"The setting {name} is a string: {str(value)!r}, not {value!r}.")
    return dict(settings)


R = TypeVar("R")


class ThreadedTransport:
    """Carries requests by another transport, in a thread."""

    def __init__(self, transport: Transport) -> None:
        """Use a transport; the thread starts with the first request."""
        self._transport = transport
        self._loop = LoopThread("ojs-server-client")
        self.max_wait_s = transport.max_wait_s

    async def _run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        return await asyncio.wrap_future(self._loop.submit(coroutine))

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation of the route table, and return its answer."""
        return await self._run(self._transport.ask(request))

    async def push(self, job: Job) -> Stored:
        """Store one job, which has an id."""
        return await self._run(self._transport.push(job))

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        return await self._run(self._transport.push_all(jobs))

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return await self._run(self._transport.get(job_id))

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        return await self._run(self._transport.cancel(job_id))

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""
        return await self._run(self._transport.activate(job_id))

    async def close(self) -> None:
        """Keep the connections: :meth:`end` closes them with the server."""

    def end(self) -> None:
        """Close the connections, and end the thread."""
        self._loop.run(self._transport.close())
        self._loop.close()


class OjsServer(Waits, ExecutionAssertions):
    """Starts the local server, and gives tests what they need of it (a context manager).

    Everything is real: HTTP, the Lambda functions' code, DynamoDB and SQS as moto has them. The
    server is a process of its own, so neither the AWS clients nor the environment of the tests
    change.

    Example::

        with OjsServer() as server, server.use(), server.work(jobs):
            handle = send_email.enqueue_sync("ada@example.com")
            server.wait_sync(handle)

    :ivar handlers: what :meth:`work` runs by default.
    """

    def __init__(
        self, *, lambda_workers: Sequence[str] = (), settings: Mapping[str, str] | None = None
    ) -> None:
        """Describe the server; nothing is started yet.

        :param lambda_workers: run in the server, as ``module:attribute``.
        :param settings: of the backend, such as ``{"OJS_MAX_ENVELOPE_BYTES": "1024"}``.
        :raises ValueError: the backend has no such setting.
        """
        self._lambda_workers = tuple(lambda_workers)
        self._settings = checked_settings(settings or {})
        self._child: ServerChild | None = None
        self._workers: list[WorkerThread] = []
        self._known = JobHandlers()
        self.handlers: Handlers | None = None

    def __enter__(self) -> Self:
        """Start the server.

        :raises ServerError: it does not start; the message says why.
        """
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the workers and the server."""
        self._stop()

    def _start(self) -> None:
        self._child = ServerChild(self._lambda_workers, self._settings)
        self._transport = ThreadedTransport(HttpTransport(HttpConnection(self._child.url)))
        self._place = Place(self._transport, self._known, lambda: Client(transport=self._transport))

    def _stop(self, **how: float) -> None:
        child, self._child = self._child, None
        if child is not None:
            self._place.close()
            self._transport.end()
            child.close(**how)

    @property
    def _running(self) -> ServerChild:
        if self._child is None:
            raise RuntimeError("The server has not been started: with OjsServer() as server: ...")
        return self._child

    @property
    def url(self) -> str:
        """Return where the server answers."""
        return self._running.url

    @property
    def log(self) -> str:
        """Return what the server, its functions and its Lambda workers have printed."""
        return self._running.log

    @property
    def client(self) -> Client:
        """Return a client of the server, for any event loop."""
        return self._place.client

    @property
    def sync_client(self) -> SyncClient:
        """Return a client for code that is not asynchronous."""
        return self._place.sync_client

    def reset(self) -> None:
        """Forget everything: jobs, workflows, cron entries, settings and messages.

        A Lambda worker may finish its jobs first. If it takes longer than five seconds, the server
        is started again.
        """
        try:
            self._running.reset()
        except ServerError:
            self._stop(wait_s=0)
            self._start()

    @contextmanager
    def use(self) -> Iterator[Self]:
        """Let the application's clients reach this server, until the block ends.

        That holds for typed jobs, and for every :class:`~ojs_aws.Client` whatever its URL is.
        """
        place = self._place
        activate(place)
        try:
            yield self
        finally:
            deactivate(place)

    def _jobs(self) -> list[EnqueuedJob[Any]]:
        """Return all jobs, in the order in which they were enqueued."""
        ids: set[str] = set()
        while not (found := {entry.id for entry in self._entries()}) <= ids:
            ids |= found  # a list that a job leaves while it is read may not show it
        jobs = [self._job(job_id) for job_id in sorted(ids)]
        return sorted(jobs, key=lambda job: str(job.get("created_at")))

    def _job(self, job_id: str) -> EnqueuedJob[Any]:
        found = self.sync_client.get(job_id)
        job: EnqueuedJob[Any] = EnqueuedJob.from_json(found.to_json())
        job._declaration = self._known.declaration(job.type)  # noqa: SLF001 - as the fake does
        return job

    def _executions(self, job: EnqueuedJob[Any]) -> int:
        """Return how many attempts of a job have begun."""
        return job.attempt

    def _failures(self, job: EnqueuedJob[Any]) -> int:
        """Return how many attempts of a job have failed."""
        errors = job.get("errors")
        return len(errors) if isinstance(errors, list) else int(job.state == "retryable")

    # ------------------------------------------------------------------------------- workers
    @contextmanager
    def work(
        self, handlers: Handlers | None = None, *, queues: Sequence[str] = (), **options: Any
    ) -> Iterator[Worker]:
        """Run a worker in a thread of this process, until the block ends.

        :param handlers: typed jobs, the application's worker (also a Lambda worker), or a registry;
            default: what the fixture ``ojs_worker`` gives.
        :param queues: default: those of the worker, or of the typed jobs.
        :param options: others of :class:`~ojs_aws.Worker`, such as ``middleware``.
        """
        handlers = self.handlers if handlers is None else handlers
        if handlers is None:
            raise TypeError("Say what to run: server.work(jobs), or server.work(worker).")
        thread = WorkerThread(worker_for(self.url, handlers, queues, **options))
        self._workers.append(thread)
        try:
            yield thread.worker
        finally:
            self._workers.remove(thread)
            thread.stop()
