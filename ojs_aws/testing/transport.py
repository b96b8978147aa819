"""Carries the requests of clients to the backend of a test, without threads and without AWS."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from ojs_aws.client.errors import WaitTimeoutError
from ojs_aws.client.results import Stored
from ojs_aws.client.transports.in_process import InProcessTransport, stored_of
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobState
from ojs_aws.testing.backend import MemoryBackend

if TYPE_CHECKING:
    from ojs_aws.client.transports.answers import Answer
    from ojs_aws.client.transports.requests import RouteRequest
    from ojs_aws.ports import TransactAction

PATIENCE_S: Final = 0.2
"""How long somebody may wait for a job while nothing runs: another task may be about to drain."""

DRAIN_PATIENCE_S: Final = 2.0
"""How long somebody may wait while a drain runs jobs."""

_UNDONE: Final = frozenset(state for state in JobState if not state.is_terminal)

P = ParamSpec("P")
R = TypeVar("R")


class NothingRunsError(WaitTimeoutError):
    """Raised when a test waits for a job that nobody runs."""

    def __str__(self) -> str:
        """Say what to do."""
        return (
            f"Job {self.job.type} {self.job.id} is {self.job.state}, and in a test nothing runs by "
            "itself: call drain() before you wait for a result."
        )


class MemoryTransport(InProcessTransport):
    """Reaches the backend of a test. It answers as the HTTP API does."""

    def __init__(self, backend: MemoryBackend) -> None:
        """Reach this backend."""
        super().__init__(backend.services)
        self._memory = backend
        self._asked: dict[str, float] = {}

    async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the services here and now, after what follows from the calls before."""
        return self._memory.call(call, *args, **kwargs)

    async def push(self, job: Job) -> Stored:
        """Store one job."""
        self._note_time([job])
        self._check_size(job)
        return stored_of(self._memory.write(self._backend.jobs.push, job))

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs, all or none."""
        self._note_time(jobs)
        return await super().push_all(jobs)

    async def transact(self, job: Job) -> tuple[Stored, list[TransactAction]]:
        """Store one job now, as if the application's transaction had committed; nothing is left.

        There is no table that the application could write to.
        """
        return await self.push(job), []

    async def ask(self, request: RouteRequest) -> Answer:
        """Ask for an operation.

        :raises WaitTimeoutError: nobody has run a job whose result was asked for some time.
        """
        answer = await super().ask(request)
        if request.operation == "get_result" and answer.values.get("state") in _UNDONE:
            await self._check_patience(request.path["job_id"])
        return answer

    async def _check_patience(self, job_id: str) -> None:
        now = time.monotonic()
        patience_s = DRAIN_PATIENCE_S if self._memory.drains else PATIENCE_S
        if now - self._asked.setdefault(job_id, now) < patience_s:
            return
        del self._asked[job_id]
        raise NothingRunsError(await self.get(job_id), patience_s)

    def _note_time(self, jobs: Sequence[Job]) -> None:
        """Set the clock if jobs name a time of day, which they have from this machine's clock."""
        moments = (job.get(name) for job in jobs for name in ("scheduled_at", "expires_at"))
        if any(isinstance(moment, str) and not moment.startswith("+") for moment in moments):
            self._memory.catch_up()
