"""Connects a worker inside AWS straight to DynamoDB and SQS.

The services are called in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ojs_aws.domain.attempts import AttemptRef, attempt_of
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import Member, RawJson, encode
from ojs_aws.domain.progress import read_report
from ojs_aws.services.backend import Backend
from ojs_aws.worker.reservations import NO_IDS, Pulse

R = TypeVar("R")


class DirectReservations:
    """Acknowledges, fails and extends the jobs of one worker.

    The reservation of a job is the one that it was claimed with; else the one that a report names.

    The messages that delivered the jobs are left to whoever invoked the worker.
    """

    def __init__(
        self,
        backend: Backend,
        worker_id: str,
        visibility_timeout_ms: int | None = None,
        claimed: JobRecord | None = None,
    ) -> None:
        """Act for one worker on the services of a deployment.

        :param visibility_timeout_ms: by how much a heartbeat extends; default: the job's own.
        :param claimed: the job as it was claimed, to save reading it.
        """
        self._backend = backend
        self._worker_id = worker_id
        self._visibility_timeout_ms = visibility_timeout_ms
        self._known = claimed
        self._claimed = {} if claimed is None else {claimed.id: attempt_of(claimed)}

    async def ack(self, job_id: str, result: RawJson | None, *, reservation_id: str = "") -> None:
        """Complete a job."""
        which = self._which(job_id, reservation_id)
        ack = self._backend.ack
        await asyncio.to_thread(
            ack, job_id, self._worker_id, result, which=which, has_message=False
        )

    async def fail(
        self, job_id: str, error: dict[str, JsonValue], *, reservation_id: str = ""
    ) -> None:
        """Record a failure."""
        await self._report(self._backend.fail, job_id, _members(error), reservation_id)

    async def requeue(
        self, job_id: str, error: dict[str, JsonValue], *, reservation_id: str = ""
    ) -> None:
        """Give a job back."""
        await self._report(self._backend.fail.requeue, job_id, _members(error), reservation_id)

    async def progress(
        self, job_id: str, said: Mapping[str, JsonValue], *, reservation_id: str = ""
    ) -> bool:
        """Report progress."""
        report = read_report(_members(said))
        self._known, is_noted = await self._report(
            self._backend.progress, job_id, report, reservation_id
        )
        return is_noted

    async def _report(
        self, service: Callable[..., R], job_id: str, said: object, reservation_id: str
    ) -> R:
        """Report something of a job, starting from the job as last seen."""
        return await asyncio.to_thread(
            service,
            job_id,
            self._worker_id,
            said,
            which=self._which(job_id, reservation_id),
            start=self._start(job_id),
            has_message=False,
        )

    async def checkpoint(self, job_id: str, state: RawJson, *, reservation_id: str = "") -> None:
        """Save a checkpoint."""
        saved = await asyncio.to_thread(
            self._backend.checkpoints.save,
            job_id,
            self._worker_id,
            state,
            which=self._which(job_id, reservation_id),
            start=self._start(job_id),
        )
        self._known = saved.job

    def _start(self, job_id: str) -> JobRecord | None:
        """Return the job as last seen; a write that finds it changed starts over."""
        known = self._known
        return known if known is not None and known.id == job_id else None

    def _which(self, job_id: str, reservation_id: str) -> AttemptRef:
        known = self._claimed.get(job_id)
        return known or AttemptRef(reservation_id=reservation_id or None)

    async def heartbeat(
        self,
        job_ids: Sequence[str],
        state: str,  # noqa: ARG002 - the state of a function is always running
        *,
        reservation_ids: Mapping[str, str] = NO_IDS,
    ) -> Pulse:
        """Extend reservations."""
        self._known = None
        ids = reservation_ids
        attempts = {job_id: self._which(job_id, ids.get(job_id, "")) for job_id in job_ids}
        beat = await asyncio.to_thread(
            self._backend.heartbeat,
            self._worker_id,
            job_ids,
            self._visibility_timeout_ms,
            attempts=attempts,
        )
        return Pulse(beat.state, frozenset(beat.cancelled), frozenset(beat.lost))


def _members(values: Mapping[str, JsonValue]) -> dict[str, Member]:
    return {name: Member(encode(value), value) for name, value in values.items()}
