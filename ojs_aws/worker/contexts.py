"""The context that a handler gets, connected to the worker that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext


class WorkerContext(JobContext):
    """A context whose ``heartbeat`` also works in synchronous handlers, which run in threads.

    There it blocks until the reservation is extended, and need not be awaited.
    """

    def __init__(
        self,
        job: Job,
        *,
        extend: Callable[[str], Awaitable[bool]],
        deadline: float | None = None,
    ) -> None:
        """A context for one execution, made in the event loop of the worker.

        :param extend: extends the reservation of a job; False when the job is no longer to be
            executed.
        :param deadline: when the environment ends the execution (``time.monotonic()`` seconds).
        """
        super().__init__(job, heartbeat=self._extend, deadline=deadline)
        self._extend_job = extend
        self._loop = asyncio.get_running_loop()

    def heartbeat(self) -> Coroutine[Any, Any, None]:
        """Extend the job's reservation by its visibility timeout.

        :raises OjsError: the backend could not be asked.
        """
        if _running_loop() is self._loop:
            return super().heartbeat()
        asyncio.run_coroutine_threadsafe(super().heartbeat(), self._loop).result()
        return _Done()

    async def _extend(self) -> None:
        if not await self._extend_job(self.job.id):
            self.cancel("cancelled, or the reservation was lost")


class _Done(Coroutine[Any, Any, None]):
    """Awaiting it gives None at once; not awaiting it is no mistake."""

    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield

    def send(self, _: object) -> None:
        raise StopIteration

    def throw(
        self,
        kind: type[BaseException] | BaseException,
        problem: object = None,
        _: TracebackType | None = None,
    ) -> None:
        if isinstance(kind, BaseException):
            raise kind
        raise problem if isinstance(problem, BaseException) else kind()

    def close(self) -> None:
        """Nothing is open."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
