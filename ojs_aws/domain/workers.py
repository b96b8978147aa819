"""Describes workers by their heartbeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
