"""A worker's jobs straight on DynamoDB and SQS, for workers inside AWS.

The services are called in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.json_text import Member, RawJson, encode
from ojs_aws.domain.progress import read_report
from ojs_aws.services.backend import Backend
from ojs_aws.worker.reservations import Pulse


class DirectReservations:
    """Acknowledges, fails and extends the jobs of one worker.

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

    async def ack(self, job_id: str, result: RawJson | None) -> None:
        """Complete a job."""
        await asyncio.to_thread(
            self._backend.ack, job_id, self._worker_id, result, has_message=False
        )

    async def fail(self, job_id: str, error: dict[str, JsonValue]) -> None:
        """Record a failure."""
        await asyncio.to_thread(
            self._backend.fail,
            job_id,
            self._worker_id,
            _members(error),
            start=self._start(job_id),
            has_message=False,
        )

    async def progress(self, job_id: str, said: Mapping[str, JsonValue]) -> bool:
        """Report progress."""
        known, is_noted = await asyncio.to_thread(
            self._backend.progress,
            job_id,
            self._worker_id,
            read_report(_members(said)),
            start=self._start(job_id),
            has_message=False,
        )
        self._known = known
        return is_noted

    async def checkpoint(self, job_id: str, state: RawJson) -> None:
        """Save a checkpoint."""
        saved = await asyncio.to_thread(
            self._backend.checkpoints.save,
            job_id,
            self._worker_id,
            state,
            start=self._start(job_id),
        )
        self._known = saved.job

    def _start(self, job_id: str) -> JobRecord | None:
        """The job as last seen; a write that finds another one starts over from that."""
        known = self._known
        return known if known is not None and known.id == job_id else None

    async def heartbeat(self, job_ids: Sequence[str], state: str) -> Pulse:  # noqa: ARG002 - the state of a function is always running
        """Extend reservations."""
        self._known = None
        beat = await asyncio.to_thread(
            self._backend.heartbeat, self._worker_id, job_ids, self._visibility_timeout_ms
        )
        return Pulse(beat.state, frozenset(beat.cancelled), frozenset(beat.lost))


def _members(values: Mapping[str, JsonValue]) -> dict[str, Member]:
    return {name: Member(encode(value), value) for name, value in values.items()}
