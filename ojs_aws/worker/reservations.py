"""Declares what a worker needs of the backend, and connects the context of a handler to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ojs_aws.client.timer import SystemTimer, Timer
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError, JsonValue, OjsError
from ojs_aws.domain.json_members import check_native
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.middleware.context import JobContext


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """Holds the answer to a heartbeat.

    :ivar directive: ``running``, ``quiet`` or ``terminate``.
    :ivar cancelled: jobs to stop executing, because they were cancelled.
    :ivar lost: jobs that are no longer this worker's.
    """

    directive: str = "running"
    cancelled: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()

    def keeps(self, job_id: str) -> bool:
        """Return whether a job may be executed on."""
        return job_id not in self.cancelled | self.lost


NO_IDS: Final[Mapping[str, str]] = {}


class Reservations(Protocol):
    """Holds the jobs of one worker.

    Each report carries the ``reservation_id`` that FETCH gave with the job, where it gave one, so
    that a report which is repeated late cannot be taken for one of a later attempt.

    Each method raises ConflictError when a job is not, or no longer, this worker's, and
    BackendError when it is unknown whether it took effect; all of them may be repeated.
    """

    async def ack(self, job_id: str, result: RawJson | None, *, reservation_id: str = "") -> None:
        """Report success."""

    async def fail(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        """Report failure; the backend decides what follows.

        :param delay_ms: how long a retry waits; None for as long as the policy says.
        """

    async def requeue(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        """Give a job back: it is available at once, and the attempt does not count.

        :param error: why.
        :param delay_ms: how long it is retryable before it is available.
        """

    async def progress(
        self, job_id: str, said: Mapping[str, JsonValue], *, reservation_id: str = ""
    ) -> bool:
        """Report progress; return False if the job is not, or no longer, this worker's."""

    async def checkpoint(self, job_id: str, state: RawJson, *, reservation_id: str = "") -> None:
        """Save from where the next attempt continues."""

    async def heartbeat(
        self, job_ids: Sequence[str], state: str, *, reservation_ids: Mapping[str, str] = NO_IDS
    ) -> HeartbeatReply:
        """Report that the worker lives, and extend these jobs' reservations (at most 100).

        :param reservation_ids: of the jobs, by job id, where they are known.
        """


class JobSource(Reservations, Protocol):
    """Fetches jobs that a worker asks for itself."""

    async def fetch(self, queues: Sequence[str], count: int) -> list[Job]:
        """Claim up to ``count`` jobs, queues strictly from left to right; may return none."""

    async def close(self) -> None:
        """Close the connections."""


EVERY_S: Final = 1.0
"""Between two reports that are sent (ojs-progress, section 6.2)."""

LAST_WORDS_S: Final = 2.0
"""For the report that is pending when the handler ends."""

_logger = logging.getLogger(__name__)

Send = Callable[[Mapping[str, JsonValue]], Awaitable[None]]


class ProgressReports:
    """Sends a handler's reports: the first at once, then at most one a second.

    Belongs to the event loop of the worker; :meth:`report` may be called from any thread. What
    cannot be sent is not sent again: the next report says more (section 4).
    """

    def __init__(self, send: Send, timer: Timer) -> None:
        """Report by ``send``; nothing is started yet."""
        self._send = send
        self._timer = timer
        self._loop = asyncio.get_running_loop()
        self._pending: dict[str, JsonValue] = {}
        self._sending: asyncio.Task[None] | None = None
        self._next_at = 0.0

    def report(self, said: Mapping[str, JsonValue]) -> None:
        """Replace a report that has not been sent; returns at once."""
        self._loop.call_soon_threadsafe(self._take, dict(said))

    def _take(self, said: dict[str, JsonValue]) -> None:
        number, earlier = said.get("progress"), self._pending.get("progress")
        self._pending |= said
        if isinstance(number, float) and isinstance(earlier, float):
            self._pending["progress"] = max(number, earlier)
        if self._sending is None or self._sending.done():
            self._sending = self._loop.create_task(self._send_on())

    async def _send_on(self) -> None:
        while self._pending:
            pause_s = self._next_at - self._timer.monotonic()
            if pause_s > 0:
                await self._timer.sleep(pause_s)
            await self._send_pending()

    async def _send_pending(self) -> None:
        said, self._pending = self._pending, {}
        if not said:
            return
        self._next_at = self._timer.monotonic() + EVERY_S
        try:
            await self._send(said)
        except OjsError as problem:
            _logger.warning("Progress was not reported: %s", problem)

    async def finish(self) -> None:
        """Send the pending report within two seconds; the handler has ended."""
        await asyncio.sleep(0)  # what another thread reported last is still on its way
        self.stop()
        if self._pending:
            task = self._loop.create_task(self._send_pending())
            await asyncio.wait({task}, timeout=LAST_WORDS_S)
            task.cancel()

    def stop(self) -> None:
        """Stop sending reports."""
        if self._sending is not None:
            self._sending.cancel()


_LOST = "cancelled, or the reservation was lost"


class WorkerContext(JobContext):
    """Gives a handler ``heartbeat`` and ``checkpoint``, in synchronous handlers, too.

    Those run in threads: there both block until they are done, and need not be awaited.
    """

    def __init__(
        self,
        job: Job,
        *,
        extend: Callable[[str], Awaitable[bool]],
        held: Reservations | None = None,
        reservation_id: str = "",
        deadline: float | None = None,
        timer: Timer | None = None,
    ) -> None:
        """Make a context for one execution, in the event loop of the worker.

        :param extend: extends the reservation of a job; False when the job is no longer to be
            executed.
        :param held: where progress and checkpoints go to.
        :param reservation_id: what the backend calls the claim; empty where it gave none.
        :param deadline: when the environment ends the execution (``time.monotonic()`` seconds).
        """
        super().__init__(job, heartbeat=self._extend, deadline=deadline)
        self._job_id = job.id  # whatever the middleware makes of the job
        self._extend_job = extend
        self._held = held
        self._reservation_id = reservation_id
        self._loop = asyncio.get_running_loop()
        self._reports = ProgressReports(self._send, timer or SystemTimer())

    @property
    def reservation_id(self) -> str:
        """Return what the backend calls the claim of the job; empty where it gave none."""
        return self._reservation_id

    def heartbeat(self) -> Coroutine[Any, Any, None]:
        """Extend the job's reservation by its visibility timeout.

        :raises OjsError: the backend could not be asked.
        """
        return self._here(super().heartbeat())

    def checkpoint(self, state: JsonValue) -> Coroutine[Any, Any, None]:
        """Save from where the next attempt continues; replaces the last checkpoint.

        :param state: a JSON value of up to 1 MiB; a small one is cheaper.
        :raises InvalidPayloadError: what JSON cannot say.
        :raises ConflictError: the job is not this worker's any more.
        :raises OjsError: it is too large, or the backend could not be asked; the checkpoint
            before stays.
        """
        check_native(state, "checkpoint")
        return self._here(self._save(state, encode(state)))

    def _report(self, report: Mapping[str, JsonValue]) -> None:
        if self._held is not None:
            self._reports.report(report)

    async def finish(self) -> None:
        """Send the last report; the handler has ended."""
        await self._reports.finish()

    def stop(self) -> None:
        """Send no more reports."""
        self._reports.stop()

    async def _send(self, said: Mapping[str, JsonValue]) -> None:
        if self._held is None:
            return
        mine = self._reservation_id
        if not await self._held.progress(self._job_id, said, reservation_id=mine):
            self.cancel(_LOST)

    async def _save(self, state: JsonValue, text: RawJson) -> None:
        if self._held is not None:
            try:
                mine = self._reservation_id
                await self._held.checkpoint(self._job_id, text, reservation_id=mine)
            except ConflictError:
                self.cancel(_LOST)
                raise
        self.keep_checkpoint(state)

    async def _extend(self) -> None:
        if not await self._extend_job(self._job_id):
            self.cancel(_LOST)

    def _here(self, work: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None]:
        """Return an awaitable in the worker's loop; in a thread, run it at once."""
        if _running_loop() is self._loop:
            return work
        asyncio.run_coroutine_threadsafe(work, self._loop).result()
        return _Done()


class _Done(Coroutine[Any, Any, None]):
    """Gives None at once when awaited; need not be awaited."""

    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield

    def send(self, _: object) -> None:
        raise StopIteration

    def throw(self, *problem: Any) -> None:
        super().throw(*problem)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
