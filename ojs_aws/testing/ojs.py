"""Tests jobs without a server: enqueues into memory, and runs them when the test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from ojs_aws.client.transports.substitute import activate, deactivate
from ojs_aws.domain.timestamps import datetime_of, duration_ms, instant_of, parse_timestamp
from ojs_aws.testing.assertions import HasId
from ojs_aws.testing.handlers import Error, checked_error
from ojs_aws.testing.jobs import EnqueuedJob, JobKind, type_of
from ojs_aws.testing.mistakes import nearest, refuse_left_over
from ojs_aws.testing.outcome_assertions import ExecutionAssertions, WorkflowAssertions
from ojs_aws.testing.runs import Runs

if TYPE_CHECKING:
    from ojs_aws.client import Client, SyncClient
    from ojs_aws.config import Settings
    from ojs_aws.domain.events import Event
    from ojs_aws.middleware.chain.enqueue import EnqueueChain
    from ojs_aws.middleware.hooks import Hooks
    from ojs_aws.typed_jobs.jobs import Jobs
    from ojs_aws.worker.base import BaseWorker


class Ojs(Runs, WorkflowAssertions, ExecutionAssertions):
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

        Use it as a context manager, or call :meth:`restore` at the end: until then it is active.

        :param worker: runs the jobs with its handlers, middleware, hooks and resources.
        :param jobs: the typed jobs to run; default: those of every ``Jobs`` of the process.
        :param middleware: the enqueue middleware of :attr:`client` and of typed jobs that nobody
            configured; default: the default chain.
        :param hooks: of the same clients.
        :param settings: of the backend, such as its limits.
        :raises ValueError: both a worker and jobs.
        :raises RuntimeError: an earlier one was begun without ``with``, and not ended.
        """
        refuse_left_over()
        made = cls(worker=worker, jobs=jobs, middleware=middleware, hooks=hooks, settings=settings)
        made._place.begin()
        return made

    @classmethod
    def inline(
        cls,
        *,
        worker: BaseWorker | None = None,
        jobs: Jobs | None = None,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        settings: Settings | None = None,
    ) -> Self:
        """Start to take the place of the backend, and run each job as soon as it is enqueued.

        It runs between enqueueing and the answer, in both chains of middleware. An error of the
        handler goes to whoever enqueued the job, which is discarded: there are no retries. Delays,
        pauses and limits do not count, and jobs run one at a time.

        Example::

            with Ojs.inline() as ojs:
                handle = await build_report.enqueue("2024-01-01")
                assert (await handle.result()).pages == 3

        :param worker: see :meth:`fake`, as for the others.
        """
        refuse_left_over()
        made = cls(
            worker=worker,
            jobs=jobs,
            middleware=middleware,
            hooks=hooks,
            settings=settings,
            is_inline=True,
        )
        made._place.begin()
        return made

    def restore(self) -> None:
        """End it: clients reach their own backend again. May be called twice."""
        deactivate(self._place)
        self._place.close()

    def __enter__(self) -> Self:
        """Return it; :meth:`fake` has started it."""
        if not self._place.is_active:
            activate(self._place)
        self._place.has_block = True
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """End it.

        :raises AssertionError: an execution was to fail, and there was none.
        """
        self.restore()
        unused = self._handlers.faults.unused()
        if kind is None and unused:
            types = {job.type for job in self._backend.jobs.values()}
            raise AssertionError(
                f"fail_next({unused[0]!r}, ...) was never used: no such job was executed since."
                f"{nearest(unused[0], types | {*self._handlers.faults})}"
            )

    # ------------------------------------------------------------------------- clients
    @property
    def client(self) -> Client:
        """Return a client that enqueues here, whatever else is active."""
        return self._place.client

    @property
    def sync_client(self) -> SyncClient:
        """Return a client for code that is not asynchronous."""
        return self._place.sync_client

    # --------------------------------------------------------------- the clock and handlers
    @property
    def now(self) -> datetime:
        """Return the time on the clock of the test, in UTC."""
        return datetime_of(self._backend.clock.now())

    def freeze_time(self, timestamp: datetime | str) -> None:
        """Set the clock to a moment, at which it stands until :meth:`advance_time`.

        :param timestamp: an aware datetime, or ``"2026-02-13T10:00:00Z"``.
        :raises ValueError: it lies before the time of the clock, and there are jobs already.
        """
        if isinstance(timestamp, datetime):
            moment = instant_of(timestamp)
        else:
            moment = parse_timestamp(timestamp, "timestamp")
        self._backend.set_time(moment)

    def advance_time(self, duration: str | timedelta) -> None:
        """Move the clock forward: jobs become due, reservations end, cron jobs fire.

        It is the clock of the backend. Code that asks this machine for the time does not notice:
        let it enqueue with a ``delay``, or move that clock as well.

        :param duration: ``"1h"``, ``"PT24H"`` or a timedelta.
        """
        self._backend.advance(duration_ms(duration, "duration"))

    def fail_next(self, kind: JobKind[Any], error: Error) -> None:
        """Let the next execution of a type fail, after any that were asked for before.

        Example::

            ojs.fail_next(send_email, TimeoutError("SMTP"))
        """
        self._handlers.faults.fail_next(type_of(kind), checked_error(error))

    def handle(self, kind: JobKind[Any], function: Callable[..., object]) -> None:
        """Run a function in place of the handler of a type, such as of a remote job.

        It gets the context and the arguments as they are on the wire.

        Example::

            ojs.handle(encode, lambda ctx, path, options: {"frames": 3})
        """
        self._handlers.faults.handle(type_of(kind), function)

    def fail_all(self, kind: JobKind[Any], error: Error) -> None:
        """Let all executions of a type fail."""
        self._handlers.faults.fail_all(type_of(kind), checked_error(error))

    # ---------------------------------------------------------------------------- jobs
    def clear_all(self) -> None:
        """Forget all jobs, workflows and executions. Cron jobs, queues and schemas stay."""
        self._backend.clear()
        self._runner.clear()

    def job(self, job: HasId | str) -> EnqueuedJob[Any]:
        """Return a job as it is now.

        :param job: the job, a handle of it, what ``client.enqueue`` returned, or its id.
        :raises LookupError: there is no such job.
        """
        job_id = job if isinstance(job, str) else job.id
        for found in self._jobs():
            if found.id == job_id:
                return found
        raise LookupError(f"There is no job {job_id}.")

    def all_events(self, *types: str) -> list[Event]:
        """Return the lifecycle events so far, in their order.

        Example::

            assert [event.type for event in ojs.all_events("job.completed")] == ["job.completed"]

        :param types: only these; default: all.
        """
        return [event for event in self._backend.events() if not types or event.type in types]

    def _executions(self, job: EnqueuedJob[Any]) -> int:
        return sum(each.job.id == job.id for each in self._runner.log)

    def _failures(self, job: EnqueuedJob[Any]) -> int:
        return sum(each.job.id == job.id and each.outcome == "failed" for each in self._runner.log)

    def __repr__(self) -> str:
        """Show how many jobs there are."""
        state = "active" if self._place.is_active else "ended"
        return f"<{type(self).__name__} {state}, {len(self._backend.jobs)} jobs>"
