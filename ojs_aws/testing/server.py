"""Runs tests against a real server: the local one, in a process of its own (ojs-testing, 5.3)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, Self, TypeAlias, TypeVar

from ojs_aws.client import Client, SyncClient
from ojs_aws.client.handles import id_of
from ojs_aws.client.transports.connection import HttpConnection
from ojs_aws.client.transports.http import HttpTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.middleware.results import EnqueueResult
from ojs_aws.testing.server_child import ServerChild, ServerError
from ojs_aws.testing.threaded_transport import ThreadedTransport
from ojs_aws.testing.worker_thread import Handlers, WorkerThread, worker_for
from ojs_aws.typed_jobs.handles import Handle, SyncHandle, seconds_of
from ojs_aws.worker.polling import Worker

AnyJob: TypeAlias = Job | EnqueueResult | Handle[Any] | SyncHandle[Any] | str
"""A job, what enqueueing it returned, or its id."""

FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.2
READY: Final = ("available", "active")
LATER: Final = ("scheduled", "retryable")

T = TypeVar("T")


class OjsServer:
    """Starts the local server, and gives tests what they need of it (a context manager).

    Everything is real: HTTP, the Lambda functions' code, DynamoDB and SQS as moto has them. The
    server is a process of its own, so neither the AWS clients nor the environment of the tests
    change.

    Example::

        with OjsServer() as server, server.work(jobs):
            enqueued = server.sync_client.enqueue("email.send", ["ada@example.com"])
            server.wait_sync(enqueued)
    """

    def __init__(
        self,
        *,
        lambda_workers: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Describe the server; nothing is started yet.

        :param lambda_workers: run in the server, as ``module:attribute``.
        :param settings: of the backend, such as ``{"OJS_MAX_PAYLOAD_BYTES": "1000"}``.
        """
        self._lambda_workers = tuple(lambda_workers)
        self._settings = dict(settings or {})
        self._child: ServerChild | None = None
        self._workers: list[WorkerThread] = []

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
        self._transport = ThreadedTransport(HttpTransport(HttpConnection(self.url)))
        self.client = Client(transport=self._transport)
        self.sync_client = SyncClient(client=Client(transport=self._transport))

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            self.sync_client.close()
            self._transport.end()
            child.close()

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

    def reset(self) -> None:
        """Forget everything: jobs, workflows, cron entries, settings and messages.

        A Lambda worker may finish its jobs first. If it takes longer than five seconds, the server
        is started again.
        """
        try:
            self._running.reset()
        except ServerError:
            self._stop()
            self._start()

    # ------------------------------------------------------------------------------- workers
    @contextmanager
    def work(
        self, handlers: Handlers, *, queues: Sequence[str] = (), **options: Any
    ) -> Iterator[Worker]:
        """Run a worker in a thread of this process, until the block ends.

        :param handlers: typed jobs, the application's worker (also a Lambda worker), or a registry.
        :param queues: default: those of the worker, or of the typed jobs.
        :param options: others of :class:`~ojs_aws.Worker`, such as ``middleware``.
        """
        thread = WorkerThread(worker_for(self.url, handlers, queues, **options))
        self._workers.append(thread)
        try:
            yield thread.worker
        finally:
            self._workers.remove(thread)
            thread.stop()

    # ------------------------------------------------------------------------------- waiting
    async def wait(
        self,
        job: AnyJob,
        *states: str,
        timeout: str | timedelta = "10s",  # noqa: ASYNC109 - the message says what was waited for
    ) -> Job:
        """Wait until a job is in a state; see :meth:`wait_sync`."""
        return await asyncio.to_thread(self.wait_sync, job, *states, timeout=timeout)

    def wait_sync(self, job: AnyJob, *states: str, timeout: str | timedelta = "10s") -> Job:
        """Wait until a job is in one of these states, and return it.

        :param states: default: ``completed``.
        :raises AssertionError: it has ended in another state, or is in none of them in time; the
            message shows the job's last error.
        """
        wanted = [JobState(state) for state in states or ("completed",)]
        job_id = id_of(job) if isinstance(job, (Job, EnqueueResult, str)) else job.id

        def look() -> Job | None:
            found = self.sync_client.get(job_id)
            if found.state in wanted:
                return found
            if JobState(str(found.state)).is_terminal:
                raise AssertionError(f"{_shown(found)} and never {_any_of(wanted)}.")
            return None

        found = self._look_until(look, timeout)
        if found is not None:
            return found
        last = _shown(self.sync_client.get(job_id))
        raise AssertionError(f"{last} and was not {_any_of(wanted)} within {timeout}.")

    async def drain(
        self,
        queue: str | None = None,
        *,
        with_scheduled: bool = False,
        timeout: str | timedelta = "30s",  # noqa: ASYNC109 - the message says what was waited for
    ) -> None:
        """Wait until workers have done all jobs; see :meth:`drain_sync`."""
        await asyncio.to_thread(
            self.drain_sync, queue, with_scheduled=with_scheduled, timeout=timeout
        )

    def drain_sync(
        self,
        queue: str | None = None,
        *,
        with_scheduled: bool = False,
        timeout: str | timedelta = "30s",
    ) -> None:
        """Wait until workers have done all jobs, and the workflows that they belong to.

        :param queue: default: all queues.
        :param with_scheduled: wait for scheduled jobs and retries as well, at their own times.
        :raises AssertionError: jobs are left in the end; the message names them.
        """
        if self._look_until(lambda: self._is_drained(queue, with_scheduled) or None, timeout):
            return
        states = READY + LATER if with_scheduled else READY
        left = self.sync_client.jobs.list(states=states, **_of(queue)).jobs
        shown = "".join(f"\n  {each.type} {each.id} is {each.state}" for each in left)
        raise AssertionError(f"Jobs are left after {timeout}. {self._served()}{shown}")

    def _served(self) -> str:
        """Return a sentence about the workers that run."""
        queues = dict.fromkeys(queue for each in self._workers for queue in each.worker.queues)
        if not queues and not self._lambda_workers:
            return "No worker runs: with server.work(jobs): ..."
        lambdas = [f"what {path} serves" for path in self._lambda_workers]
        return f"Workers run for: {', '.join([*queues, *lambdas])}."

    def _is_drained(self, queue: str | None, with_scheduled: bool) -> bool:  # noqa: FBT001
        states = READY + LATER if with_scheduled else READY
        if self.sync_client.jobs.list(states=states, limit=1, **_of(queue)).jobs:
            return False
        if not self.sync_client.workflows.list(state="running").workflows:
            return True
        # The next step of a workflow follows its last one after a moment.
        return bool(self.sync_client.jobs.list(states=LATER, limit=1).jobs) and not with_scheduled

    def _look_until(self, look: Callable[[], T | None], timeout: str | timedelta) -> T | None:
        """Look again and again, until something is found or it is too late."""
        deadline = time.monotonic() + (seconds_of(timeout) or 0.0)
        pause_s = FIRST_PAUSE_S
        while True:
            for worker in self._workers:
                worker.check()
            found = look()
            if found is not None or time.monotonic() >= deadline:
                return found
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)


def _of(queue: str | None) -> Any:
    return {} if queue is None else {"queue": queue}


def _any_of(states: Sequence[JobState]) -> str:
    return " or ".join(states)


def _shown(job: Job) -> str:
    """Return a sentence about a job's state, without its end, and its last error."""
    error = job.get("error")
    said = f"{error.get('type')}: {error.get('message')}; " if isinstance(error, dict) else ""
    return f"{job.type} {job.id} is {job.state} ({said}attempt {job.attempt})"
