"""Declares what a worker needs of the backend, however it reaches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import RawJson


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
