"""Workers that heartbeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from ojs_aws.domain.timestamps import Instant

RUNNING: Final = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """What a heartbeat says of its worker.

    :ivar state: the lifecycle state that the worker says it is in.
    :ivar active_jobs: how many jobs it says it has.
    :ivar job_ids: those that it names.
    :ivar interval_ms: how often it promises to beat, if it does.
    :ivar about: JSON object of what it tells of itself (hostname, queues ...); empty for nothing
        new.
    """

    state: str = RUNNING
    active_jobs: int = 0
    job_ids: tuple[str, ...] = ()
    interval_ms: int | None = None
    about: str = ""


class ForeignWorkerError(Exception):
    """Another principal registered the worker's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker as its heartbeats describe it.

    :ivar seen_before: its heartbeat before the last one; None while there was only one.
    :ivar directive: what it is told to be: ``running``, ``quiet`` or ``terminate``.
    :ivar about: JSON object of what it told of itself, or empty.
    :ivar principal: who registered its id; empty where access is open or it runs inside AWS.
    """

    id: str
    last_seen: Instant
    seen_before: Instant | None = None
    directive: str = RUNNING
    state: str = RUNNING
    active_jobs: int = 0
    job_ids: tuple[str, ...] = ()
    interval_ms: int | None = None
    about: str = ""
    principal: str = ""

    @property
    def is_draining(self) -> bool:
        """Whether it takes no new jobs, because it says so or because it is told so."""
        return self.state != RUNNING or self.directive != RUNNING


class WorkerRegistry(Protocol):
    """Workers that heartbeat. One that was silent for long, or that ended, is in it no more."""

    def beat(
        self, worker_id: str, report: WorkerReport, now: Instant, principal: str = ""
    ) -> WorkerInfo:
        """Register the worker or renew what is known of it, in one write.

        The first principal that beats for a worker owns its id until the worker is forgotten.

        :param principal: who beats; empty where access is open or the worker runs inside AWS: then
            nothing is remembered and nothing checked.
        :returns: the worker, with what it is told to do.
        :raises ForeignWorkerError: another principal owns the id; nothing is written.
        """

    def load(self, worker_id: str, now: Instant) -> WorkerInfo | None:
        """One worker, strongly consistent."""

    def page(self, after: str, limit: int, now: Instant) -> list[WorkerInfo]:
        """Up to ``limit`` workers by id, those after the named one."""

    def direct(self, worker_id: str, directive: str, now: Instant) -> WorkerInfo | None:
        """Set what a worker is told with its next heartbeat.

        :returns: the worker before; None, and nothing is written, when there is no such worker.
            One that is told to terminate is never told anything else again.
        """

    def forget(self, worker_id: str, last_seen: Instant) -> bool:
        """Remove a worker; False when there is none, or it has beaten since."""
