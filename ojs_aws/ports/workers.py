"""Declares the registry of workers that send heartbeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from ojs_aws.domain.timestamps import Instant

RUNNING: Final = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """Holds what a heartbeat says of its worker.

    :ivar state: the lifecycle state that the worker says it is in.
    :ivar drain_word: how it says that it drains, if by another word than ``quiet``.
    :ivar active_jobs: how many jobs it says it has.
    :ivar job_ids: those that it names.
    :ivar interval_ms: how often it promises to beat, if it does.
    :ivar about: JSON object of what it reports of itself (hostname, queues ...); empty for nothing
        new.
    """

    state: str = RUNNING
    drain_word: str = ""
    active_jobs: int = 0
    job_ids: tuple[str, ...] = ()
    interval_ms: int | None = None
    about: str = ""


class ForeignWorkerError(Exception):
    """Reports that another principal registered the worker's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo(WorkerReport):
    """Describes a worker by its heartbeats: what they last said of it, and what is known besides.

    :ivar seen_before: its heartbeat before the last one; None while there was only one.
    :ivar beats: its heartbeats since its id was registered.
    :ivar directive: the state that it was asked to take: ``running``, ``quiet`` or ``terminate``.
    :ivar directed_by: who asked for that last, as ``domain.actor`` stores it.
    :ivar principal: who registered its id; empty where access is open or it runs inside AWS.
    """

    id: str
    last_seen: Instant
    seen_before: Instant | None = None
    beats: int = 0
    directive: str = RUNNING
    principal: str = ""
    directed_by: str = ""

    @property
    def is_draining(self) -> bool:
        """Return whether it takes no new jobs: it reports so, or its directive says so."""
        return self.state != RUNNING or self.directive != RUNNING


class WorkerRegistry(Protocol):
    """Registers workers that send heartbeats. Silent or ended ones are removed."""

    def beat(
        self, worker_id: str, report: WorkerReport, now: Instant, principal: str = ""
    ) -> WorkerInfo:
        """Register the worker, or update what is known of it, in one write.

        The first principal that beats for a worker owns its id until the worker is forgotten.

        :param principal: who beats; empty where access is open or the worker runs inside AWS: then
            nothing is remembered and nothing checked.
        :returns: the worker, with its directive.
        :raises ForeignWorkerError: another principal owns the id; nothing is written.
        """

    def load(self, worker_id: str, now: Instant) -> WorkerInfo | None:
        """Return one worker, strongly consistent."""

    def page(self, after: str, limit: int, now: Instant) -> list[WorkerInfo]:
        """Return up to ``limit`` workers by id, after the named one."""

    def direct(
        self, worker_id: str, directive: str, now: Instant, by: str = ""
    ) -> WorkerInfo | None:
        """Set the directive that a worker gets with its next heartbeat.

        :param by: who does it, as ``domain.actor`` stores it.
        :returns: the worker before; None, and nothing is written, when there is no such worker.
            A directive to terminate is never replaced by another one.
        """

    def forget(self, worker_id: str, last_seen: Instant) -> bool:
        """Remove a worker; return False if there is none, or it sent a heartbeat since."""
