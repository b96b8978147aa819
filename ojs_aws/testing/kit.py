"""Holds what all parts of the testing kit share, and lets a test move its clock."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ojs_aws.client.client import Client
from ojs_aws.domain.timestamps import datetime_of, duration_ms, instant_of, parse_timestamp
from ojs_aws.testing.backend import MemoryBackend
from ojs_aws.testing.executions import JobRunner
from ojs_aws.testing.handlers import Error, JobHandlers, checked_error
from ojs_aws.testing.jobs import EnqueuedJob, JobKind, job_of, type_of
from ojs_aws.testing.mistakes import Place
from ojs_aws.testing.transport import InlineTransport, MemoryTransport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ojs_aws.config import Settings
    from ojs_aws.middleware.chain.enqueue import EnqueueChain
    from ojs_aws.middleware.hooks import Hooks
    from ojs_aws.typed_jobs.jobs import Jobs
    from ojs_aws.worker.base import BaseWorker


class Kit:
    """Holds the backend of one test, and what runs its jobs."""

    def __init__(
        self,
        *,
        worker: BaseWorker | None = None,
        jobs: Jobs | None = None,
        middleware: EnqueueChain | Iterable[object] | None = None,
        hooks: Hooks | Iterable[object] = (),
        settings: Settings | None = None,
        is_inline: bool = False,
    ) -> None:
        """Start with an empty backend; see :meth:`Ojs.fake`.

        :param is_inline: run each job as soon as it is enqueued.
        """
        self._handlers = JobHandlers(worker, jobs)
        self._backend = MemoryBackend(settings)
        self._runner = JobRunner(self._backend, self._handlers)
        self.is_inline = is_inline
        transport: MemoryTransport
        if is_inline:
            transport = InlineTransport(self._backend, self._runner)
        else:
            transport = MemoryTransport(self._backend)

        def client() -> Client:
            return Client(transport=transport, middleware=middleware, hooks=hooks)

        self._unawaited: list[str] = []
        self._place = Place(transport, self._handlers, client)

    def _jobs(self) -> list[EnqueuedJob[Any]]:
        """Return all jobs as of now, in the order in which they were enqueued."""
        known = functools.cache(self._handlers.declaration)
        return [job_of(record, known(record.type)) for record in self._backend.records()]


class Control(Kit):
    """Moves the clock of a test, and lets its jobs fail on purpose."""

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
