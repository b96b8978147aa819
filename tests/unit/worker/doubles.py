"""A backend in memory that hands out jobs, and a clock that only the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, ConflictError, JsonValue
from ojs_aws.domain.json_text import RawJson
from ojs_aws.worker.reservations import NO_IDS, HeartbeatReply
from tests.jobs import any_job
from tests.load import HUNG_S


async def settle(rounds: int = 60) -> None:
    """Let every task run as far as it gets without time passing."""
    for _ in range(rounds):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    async with asyncio.timeout(HUNG_S):
        while not condition():  # noqa: ASYNC110 - what it waits for knows no event
            await asyncio.sleep(0.001)


class StillTimer:
    """Time stands still until :meth:`advance`."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, woken))
        await woken

    def chance(self) -> float:
        return 1.0

    def pauses(self) -> list[float]:
        """How long those who sleep will go on sleeping, shortest first."""
        return sorted(due - self.now for due, woken in self._sleepers if not woken.done())

    async def advance(self, seconds: float) -> None:
        """Move the clock, waking each sleeper at its own instant."""
        await settle()
        until_ = self.now + seconds
        while True:
            due = [one for one in self._sleepers if one[0] <= until_ and not one[1].done()]
            if not due:
                break
            self.now = min(at for at, _ in due)
            for at, woken in due:
                if at <= self.now:
                    woken.set_result(None)
            self._sleepers = [one for one in self._sleepers if not one[1].done()]
            await settle()
        self.now = until_
        await settle()


@dataclass
class FakeSource:
    """Gives out the jobs of ``ready``; remembers everything that it gets."""

    ready: list[Job] = field(default_factory=list)
    fetches: list[int] = field(default_factory=list)
    acked: dict[str, RawJson | None] = field(default_factory=dict)
    failed: dict[str, dict[str, JsonValue]] = field(default_factory=dict)
    requeued: dict[str, dict[str, JsonValue]] = field(default_factory=dict)
    delays: dict[str, int | None] = field(default_factory=dict)
    beats: list[tuple[str, list[str]]] = field(default_factory=list)
    replies: list[HeartbeatReply | Exception] = field(default_factory=list)
    problems: list[Exception] = field(default_factory=list)
    directive: str = "running"
    is_down: bool = False
    is_silent: bool = False
    is_closed: bool = False
    held: set[str] = field(default_factory=set)
    reports: list[dict[str, JsonValue]] = field(default_factory=list)
    checkpoints: list[RawJson] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    beaten: list[dict[str, str]] = field(default_factory=list)

    async def fetch(self, queues: Sequence[str], count: int) -> list[Job]:
        self.fetches.append(count)
        if self.is_silent:
            await asyncio.Event().wait()
        self._check()
        given, self.ready = self.ready[:count], self.ready[count:]
        self.held |= {job.id for job in given}
        return given

    async def ack(self, job_id: str, result: RawJson | None, *, reservation_id: str = "") -> None:
        self._report(job_id)
        self.named[job_id] = reservation_id
        self.acked[job_id] = result

    async def fail(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        self._report(job_id)
        self.delays[job_id] = delay_ms
        self.named[job_id] = reservation_id
        self.failed[job_id] = error

    async def requeue(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        self._report(job_id)
        self.delays[job_id] = delay_ms
        self.named[job_id] = reservation_id
        self.requeued[job_id] = error

    async def progress(
        self, job_id: str, said: Mapping[str, JsonValue], *, reservation_id: str = ""
    ) -> bool:
        self._check()
        self.named[job_id] = reservation_id
        self.reports.append(dict(said))
        return job_id in self.held

    async def checkpoint(self, job_id: str, state: RawJson, *, reservation_id: str = "") -> None:
        self._check()
        self.named[job_id] = reservation_id
        if job_id not in self.held:
            raise ConflictError("not yours", details={"job_id": job_id})
        self.checkpoints.append(state)

    def _report(self, job_id: str) -> None:
        self._check()
        if job_id not in self.held:
            raise ConflictError("not yours", details={"job_id": job_id})
        self.held.discard(job_id)

    def _check(self) -> None:
        if self.problems:
            raise self.problems.pop(0)
        if self.is_down:
            raise BackendError("down")

    async def heartbeat(
        self, job_ids: Sequence[str], state: str, *, reservation_ids: Mapping[str, str] = NO_IDS
    ) -> HeartbeatReply:
        self.beaten.append(dict(reservation_ids))
        self.beats.append((str(state), list(job_ids)))
        reply = self.replies.pop(0) if self.replies else HeartbeatReply(self.directive)
        if isinstance(reply, Exception):
            raise reply
        self.directive = reply.directive  # a directive stays until another is given
        return reply

    async def close(self) -> None:
        self.is_closed = True


def job(number: int = 1, job_type: str = "a.b", *args: JsonValue, **members: Any) -> Job:
    """An active job as a fetch answers it."""
    return any_job(
        job_type,
        list(args),
        id=f"01900000-0000-7000-8000-{number:012d}",
        state="active",
        attempt=1,
        **members,
    )


Scenario = Callable[[], Awaitable[None]]
