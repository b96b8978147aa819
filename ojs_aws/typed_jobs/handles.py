"""Represent a sent job or workflow to who sent it, with the type of its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.timestamps import duration_ms

if TYPE_CHECKING:
    from ojs_aws.client import Client, JobProgress, SyncClient
    from ojs_aws.domain.envelope import Job

R_co = TypeVar("R_co", covariant=True)

Decode = Callable[[JsonValue], R_co]
DEFAULT_TIMEOUT: Final = "60s"


class Pending(Protocol[R_co]):
    """Declares what every handle has: the result of what was sent."""

    async def result(self, *, timeout: str | timedelta | None = DEFAULT_TIMEOUT) -> R_co:
        """Wait until it has ended, and return its result."""


class SyncPending(Protocol[R_co]):
    """Declares what every handle of synchronous code has: the result of what was sent."""

    def result(self, *, timeout: str | timedelta | None = DEFAULT_TIMEOUT) -> R_co:
        """Wait until it has ended, and return its result."""


class JobNotSentError(LookupError):
    """Raised when the result of a job is asked for that a middleware dropped."""


def seconds_of(timeout: str | timedelta | None) -> float | None:
    """Return the seconds of a timeout; None for one that never ends."""
    return None if timeout is None else duration_ms(timeout, "timeout") / 1000


def check_blocking() -> None:
    """Refuse to wait for a result where an event loop runs, which could do nothing meanwhile.

    :raises RuntimeError: saying what to write.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "result() of a synchronous handle would block the event loop that runs here: send by "
        "`await ...enqueue(...)` and wait by `await handle.result()`, or wait in a thread by "
        "`await asyncio.to_thread(handle.result)`."
    )


class _AnyHandle(Generic[R_co]):
    """Holds what both kinds of handle know of a job."""

    def __init__(self, job_id: str, decode: Decode[R_co], dropped_by: str = "") -> None:
        self.id = job_id
        self.dropped_by = dropped_by
        self._decode = decode

    @property
    def is_enqueued(self) -> bool:
        """Return False if a middleware dropped the job."""
        return not self.dropped_by

    def _known_id(self) -> str:
        if self.dropped_by:
            raise JobNotSentError(
                f"Job {self.id} was not sent: the middleware {self.dropped_by!r} dropped it."
            )
        return self.id

    def __repr__(self) -> str:
        """Show the id."""
        return f"<{type(self).__name__} {self.id}>"


class Handle(_AnyHandle[R_co]):
    """Refers to a job that was sent, and knows the type of its result.

    :ivar id: of the job.
    :ivar dropped_by: name of the middleware that dropped the job, or empty.
    """

    def __init__(
        self, client: Client, job_id: str, decode: Decode[R_co], dropped_by: str = ""
    ) -> None:
        """Refer to a job of a client's backend."""
        super().__init__(job_id, decode, dropped_by)
        self._client = client

    async def result(self, *, timeout: str | timedelta | None = DEFAULT_TIMEOUT) -> R_co:
        """Wait until the job has ended, and return its result.

        :param timeout: how long to wait: ``"30s"``, ``"5m"``; default: 60 seconds. None waits as
            long as it takes.
        :raises JobFailedError: it was discarded; the error says why.
        :raises JobExpiredError: it expired before any worker executed it; a JobFailedError, too.
        :raises JobCancelledError: it was cancelled.
        :raises WaitTimeoutError: it has not ended in time.
        :raises ResultPrunedError: it has ended, and its outcome is not kept any more.
        :raises WrongValueError: the worker returned something of another type.
        """
        value = await self._client.result(self._known_id(), timeout_s=seconds_of(timeout))
        return self._decode(value)

    async def get(self) -> Job:
        """Read the job; see :meth:`Client.get`."""
        return await self._client.get(self._known_id())

    async def progress(self) -> JobProgress:
        """Return its latest progress; see :meth:`Client.progress`."""
        return await self._client.progress(self._known_id())

    async def cancel(self) -> Job:
        """Cancel it; see :meth:`Client.cancel`."""
        return await self._client.cancel(self._known_id())


class SyncHandle(_AnyHandle[R_co]):
    """Does without ``await`` what :class:`Handle` does."""

    def __init__(
        self, client: SyncClient, job_id: str, decode: Decode[R_co], dropped_by: str = ""
    ) -> None:
        """Refer to a job of a client's backend."""
        super().__init__(job_id, decode, dropped_by)
        self._client = client

    def result(self, *, timeout: str | timedelta | None = DEFAULT_TIMEOUT) -> R_co:
        """Wait until the job has ended, and return its result; see :meth:`Handle.result`.

        :raises RuntimeError: an event loop runs here, which it would block.
        """
        check_blocking()
        return self._decode(self._client.result(self._known_id(), timeout_s=seconds_of(timeout)))

    def get(self) -> Job:
        """Read the job; see :meth:`Client.get`."""
        return self._client.get(self._known_id())

    def progress(self) -> JobProgress:
        """Return its latest progress; see :meth:`Client.progress`."""
        return self._client.progress(self._known_id())

    def cancel(self) -> Job:
        """Cancel it; see :meth:`Client.cancel`."""
        return self._client.cancel(self._known_id())
