"""Tests jobs without a server: enqueues into memory, and runs them when the test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, AsyncExitStack
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from ojs_aws.client.client import Client
from ojs_aws.client.loop_thread import LoopThread
from ojs_aws.client.sync import SyncClient
from ojs_aws.client.transports.substitute import (
    acting,
    activate,
    deactivate,
)
from ojs_aws.domain.timestamps import (
    datetime_of,
    duration_ms,
    instant_of,
    parse_timestamp,
)
from ojs_aws.testing.assertions import Assertions
from ojs_aws.testing.backend import MemoryBackend
from ojs_aws.testing.captures import Captured, capturing
from ojs_aws.testing.drain import DEFAULT_TIMEOUT_S, Drain, DrainReport, timeout_of
from ojs_aws.testing.executions import Execution, JobRunner
from ojs_aws.testing.faults import Error
from ojs_aws.testing.handlers import JobHandlers
from ojs_aws.testing.jobs import EnqueuedJob, JobKind, job_of, type_of
from ojs_aws.testing.place import Place
from ojs_aws.testing.transport import MemoryTransport
from ojs_aws.typed_jobs.resources import in_use, not_in_use, open_all

if TYPE_CHECKING:
    from ojs_aws.config import Settings
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.middleware.chain.enqueue import EnqueueChain
    from ojs_aws.middleware.hooks.registry import Hooks
    from ojs_aws.typed_jobs.jobs import Jobs
    from ojs_aws.worker.base import BaseWorker

_LOOP = LoopThread("ojs-testing")
"""Drains for callers that are not asynchronous."""


class Ojs(Assertions):
    """Takes the place of the backend while a test runs.

    Typed jobs and every :class:`~ojs_aws.Client` of the application enqueue into memory meanwhile,
    through their own middleware. Validation, uniqueness, schedules, retries, priorities, workflows,
    cron jobs and limits are those of the real backend. Nothing runs until the test drains.

    Example::

        with Ojs.fake() as ojs:
            signup("a@b.c")
            ojs.assert_enqueued(send_email.call("a@b.c", ANY), queue="email")
            ojs.drain_sync()
            ojs.assert_job_state(ojs.all_enqueued()[0], "completed")

    Threads that a test starts, and those of a server, find it as well. Where several are active,
    each task and thread uses its own, innermost first.
    """

    def __init__(
        self,
        *,
        worker: BaseWorker | None = None,
        jobs: Jobs | None = None,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        settings: Settings | None = None,
    ) -> None:
        """Describe it; :meth:`fake` makes and starts one."""
        self._handlers = JobHandlers(worker, jobs)
        self._backend = MemoryBackend(settings)
        self._runner = JobRunner(self._backend, self._handlers.faults.is_injected)
        transport = MemoryTransport(self._backend)

        def client() -> Client:
            return Client(transport=transport, middleware=middleware, hooks=hooks)

        self._place = Place(transport, self._handlers, client)

    # ------------------------------------------------------------------- begin and end
    @classmethod
    def fake(
        cls,
        *,
        worker: BaseWorker | None = None,
        jobs: Jobs | None = None,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        settings: Settings | None = None,
    ) -> Self:
        """Start to take the place of the backend: jobs are kept, and run when the test drains.

        Use it as a context manager, or call :meth:`restore` at the end.

        :param worker: runs the jobs with its handlers, middleware, hooks and resources.
        :param jobs: the typed jobs to run; default: those of every ``Jobs`` of the process.
        :param middleware: the enqueue middleware of :attr:`client` and of typed jobs that nobody
            configured; default: the default chain.
        :param hooks: of the same clients.
        :param settings: of the backend, such as its limits.
        :raises ValueError: both a worker and jobs.
        """
        made = cls(worker=worker, jobs=jobs, middleware=middleware, hooks=hooks, settings=settings)
        activate(made._place)
        return made

    def restore(self) -> None:
        """End it: clients reach their own backend again. May be called twice."""
        deactivate(self._place)
        self._place.close()

    def __enter__(self) -> Self:
        """Return it; :meth:`fake` has started it."""
        if not self._place.is_active:
            activate(self._place)
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.restore()

    # ------------------------------------------------------------------------- clients
    @property
    def client(self) -> Client:
        """Return a client that enqueues here, whatever else is active."""
        return self._place.client

    @property
    def sync_client(self) -> SyncClient:
        """Return a client for code that is not asynchronous."""
        return self._place.sync_client

    # ---------------------------------------------------------------------------- jobs
    def _jobs(self) -> list[EnqueuedJob[Any]]:
        known = self._handlers.declaration
        return [job_of(record, known(record.type)) for record in self._backend.records()]

    def clear_all(self) -> None:
        """Forget all jobs, workflows and executions. Cron jobs, queues and schemas stay."""
        self._backend.clear()
        self._runner.log.clear()

    def capture(self) -> AbstractContextManager[Captured]:
        """Collect the jobs that a block enqueues.

        Example::

            with ojs.capture() as new:
                await signup("a@b.c")
            assert [job.type for job in new] == ["email.send"]
        """
        return capturing(self._jobs)

    # --------------------------------------------------------------------------- drain
    async def drain(
        self,
        queue: str = "",
        *,
        max_jobs: int | None = None,
        timeout: str | timedelta | float | None = DEFAULT_TIMEOUT_S,  # noqa: ASYNC109
        with_scheduled: bool = False,
        raise_errors: bool = True,
    ) -> DrainReport:
        """Run the jobs that can run, also those that they enqueue, until none is left.

        Each runs in the execution middleware. One that fails follows its retry policy: it is
        ``retryable``, and runs again once the clock is moved, or with ``with_scheduled``.

        Example::

            await ojs.drain()
            report = await ojs.drain("email", with_scheduled=True, raise_errors=False)
            assert len(report.failures) == 1

        :param queue: the only one to drain; default: all, the longest waiting job first.
        :param max_jobs: executions after which it ends; default: until nothing is left.
        :param timeout: how long it may take: seconds, or ``"30s"``.
        :param with_scheduled: move the clock on to jobs that are scheduled, or are to be retried.
        :param raise_errors: raise an error if jobs failed in the end. Failures by
            :meth:`fail_next` and :meth:`fail_all` are no errors.
        :raises DrainError: naming each failed job with its traceback; or it took too long, or has
            no end, since a job enqueues itself or is snoozed each time.
        """
        __tracebackhide__ = True
        drain = Drain(
            backend=self._backend,
            run=self._run,
            queue=queue,
            max_jobs=max_jobs,
            timeout_s=timeout_of(timeout),
            with_scheduled=with_scheduled,
        )
        with acting(self._place):
            report = await drain()
        if raise_errors:
            report.raise_errors()
        return report

    def drain_sync(
        self,
        queue: str = "",
        *,
        max_jobs: int | None = None,
        timeout: str | timedelta | float | None = DEFAULT_TIMEOUT_S,
        with_scheduled: bool = False,
        raise_errors: bool = True,
    ) -> DrainReport:
        """Do what :meth:`drain` does, without ``await``; also where an event loop runs."""
        __tracebackhide__ = True
        report = _LOOP.run(
            self.drain(
                queue,
                max_jobs=max_jobs,
                timeout=timeout,
                with_scheduled=with_scheduled,
                raise_errors=False,
            )
        )
        if raise_errors:
            report.raise_errors()
        return report

    async def _run(self, record: JobRecord, opened: AsyncExitStack) -> Execution:
        """Execute a claimed job; open what its worker would have opened."""
        missing = not_in_use(self._handlers.resources_of(record.type))
        if missing:
            opened.enter_context(in_use(await open_all(missing, opened)))
        return await self._runner.run(record, self._handlers.executor())

    # ------------------------------------------------------------------ time and failures
    @property
    def now(self) -> datetime:
        """Return the time on the clock of the test, in UTC."""
        return datetime_of(self._backend.clock.now())

    def freeze_time(self, timestamp: datetime | str) -> None:
        """Set the clock to a moment, at which it stands until :meth:`advance_time`.

        :param timestamp: an aware datetime, or ``"2026-02-13T10:00:00Z"``.
        """
        if isinstance(timestamp, datetime):
            moment = instant_of(timestamp)
        else:
            moment = parse_timestamp(timestamp, "timestamp")
        self._backend.set_time(moment)

    def advance_time(self, duration: str | timedelta) -> None:
        """Move the clock forward: jobs become due, reservations end, cron jobs fire.

        :param duration: ``"1h"``, ``"PT24H"`` or a timedelta.
        """
        self._backend.advance(duration_ms(duration, "duration"))

    def fail_next(self, kind: JobKind[Any], error: Error) -> None:
        """Let the next execution of a type fail, after any that were asked for before.

        Example::

            ojs.fail_next(send_email, TimeoutError("SMTP"))
        """
        self._handlers.faults.fail_next(type_of(kind), error)

    def handle(self, kind: JobKind[Any], function: Callable[..., object]) -> None:
        """Run a function in place of the handler of a type, such as of a remote job.

        It gets the context and the arguments as they are on the wire.

        Example::

            ojs.handle(encode, lambda ctx, path, options: {"frames": 3})
        """
        self._handlers.faults.handle(type_of(kind), function)

    def fail_all(self, kind: JobKind[Any], error: Error) -> None:
        """Let all executions of a type fail."""
        self._handlers.faults.fail_all(type_of(kind), error)

    def __repr__(self) -> str:
        """Show how many jobs there are."""
        state = "active" if self._place.is_active else "ended"
        return f"<{type(self).__name__} {state}, {len(self._backend.store.jobs)} jobs>"
