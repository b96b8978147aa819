"""Holds the backend of one test, and what runs its jobs: all parts of the kit share it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ojs_aws.client.client import Client
from ojs_aws.testing.backend import MemoryBackend
from ojs_aws.testing.executions import JobRunner
from ojs_aws.testing.handlers import JobHandlers
from ojs_aws.testing.jobs import EnqueuedJob, job_of
from ojs_aws.testing.mistakes import Place
from ojs_aws.testing.transport import InlineTransport, MemoryTransport

if TYPE_CHECKING:
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
