"""Carries the requests of clients to the backend of a test, without threads and without AWS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from ojs_aws.client.results import Stored
from ojs_aws.client.transports.in_process import InProcessTransport
from ojs_aws.domain.envelope import Job
from ojs_aws.testing.backend import MemoryBackend

P = ParamSpec("P")
R = TypeVar("R")


class MemoryTransport(InProcessTransport):
    """Reaches the backend of a test. It answers as the HTTP API does."""

    def __init__(self, backend: MemoryBackend) -> None:
        """Reach this backend."""
        super().__init__(backend.services)
        self._memory = backend

    async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the services here and now."""
        return self._memory.call(call, *args, **kwargs)

    async def push(self, job: Job) -> Stored:
        """Store one job."""
        self._note_time([job])
        return await super().push(job)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        self._note_time(jobs)
        return await super().push_all(jobs)

    def _note_time(self, jobs: Sequence[Job]) -> None:
        """Set the clock if jobs name a time of day, which they have from this machine's clock."""
        moments = (job.get(name) for job in jobs for name in ("scheduled_at", "expires_at"))
        if any(isinstance(moment, str) and not moment.startswith("+") for moment in moments):
            self._memory.catch_up()
