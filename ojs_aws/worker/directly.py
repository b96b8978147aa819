"""Connects a worker inside AWS to SQS and DynamoDB: its records, and its calls.

The services are called in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ojs_aws.adapters.sqs import decode_message
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.held_job import AttemptRef, attempt_of
from ojs_aws.domain.jobs.progress import read_report
from ojs_aws.domain.json_text import Member, RawJson, encode
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.services.backend import Backend
from ojs_aws.topology import sqs_queue_name
from ojs_aws.worker.reservations import NO_IDS, HeartbeatReply

if TYPE_CHECKING:
    from ojs_aws.services.workers.heartbeat import HeartbeatResult

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class DirectReservations:
    """Acknowledges, fails and extends the jobs of one worker.

    The reservation of a job is the one that it was claimed with; else the one that a report names.

    The messages that delivered the jobs are left to whoever invoked the worker.

    :ivar visibility_timeout_ms: by how much a heartbeat extends; default: the job's own.
    :ivar claimed: the job as it was claimed, to save reading it.
    :ivar has_message: whether a report also deletes the message that delivered the job.
    """

    backend: Backend
    worker_id: str
    visibility_timeout_ms: int | None = None
    claimed: JobRecord | None = None
    has_message: bool = False

    def __post_init__(self) -> None:
        """Start from the job as it was claimed."""
        self._known = self.claimed

    async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a service in a thread."""
        return await asyncio.to_thread(call, *args, **kwargs)

    async def ack(self, job_id: str, result: RawJson | None, *, reservation_id: str = "") -> None:
        """Complete a job."""
        which = self._which(job_id, reservation_id)
        ack = self.backend.jobs.ack
        await self._run(
            ack, job_id, self.worker_id, result, which=which, has_message=self.has_message
        )

    async def fail(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        """Record a failure."""
        fail = functools.partial(self.backend.jobs.fail, delay_ms=delay_ms)
        await self._report(fail, job_id, members(error), reservation_id)

    async def requeue(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        """Give a job back, now or after a delay."""
        requeue = functools.partial(self.backend.jobs.fail.requeue, delay_ms=delay_ms)
        await self._report(requeue, job_id, members(error), reservation_id)

    async def progress(
        self, job_id: str, said: Mapping[str, JsonValue], *, reservation_id: str = ""
    ) -> bool:
        """Report progress."""
        report = read_report(members(said))
        self._known, is_noted = await self._report(
            self.backend.outcomes.progress, job_id, report, reservation_id
        )
        return is_noted

    async def _report(
        self, service: Callable[..., R], job_id: str, said: object, reservation_id: str
    ) -> R:
        """Report something of a job, starting from the job as last seen."""
        return await self._run(
            service,
            job_id,
            self.worker_id,
            said,
            which=self._which(job_id, reservation_id),
            start=self._start(job_id),
            has_message=self.has_message,
        )

    async def checkpoint(self, job_id: str, state: RawJson, *, reservation_id: str = "") -> None:
        """Save a checkpoint."""
        saved = await self._run(
            self.backend.outcomes.checkpoints.save,
            job_id,
            self.worker_id,
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
        if self.claimed is not None and self.claimed.id == job_id:
            return attempt_of(self.claimed)
        return AttemptRef(reservation_id=reservation_id or None)

    async def heartbeat(
        self, job_ids: Sequence[str], state: str, *, reservation_ids: Mapping[str, str] = NO_IDS
    ) -> HeartbeatReply:
        """Extend reservations, each by two calls."""
        cancelled: set[str] = set()
        lost: set[str] = set()
        for job_id in job_ids:
            beat = await self._extend(job_id, reservation_ids.get(job_id, ""))
            cancelled.update(beat.cancelled)
            lost.update(beat.lost)
        return HeartbeatReply(state, frozenset(cancelled), frozenset(lost))

    async def extend(self, job_id: str) -> bool:
        """Extend the reservation of a job; return False if it must no longer be executed."""
        return (await self.heartbeat([job_id], "running")).keeps(job_id)

    async def _extend(self, job_id: str, reservation_id: str) -> HeartbeatResult:
        start, self._known = self._start(job_id), None
        beat, self._known = await self._run(
            self.backend.workers.heartbeat.extend,
            self.worker_id,
            job_id,
            self.visibility_timeout_ms,
            which=self._which(job_id, reservation_id),
            start=start,
        )
        return beat


def members(values: Mapping[str, JsonValue]) -> dict[str, Member]:
    """Return the members of an error or a report, as the services take them."""
    return {name: Member(encode(value), value) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Record:
    """Holds one message of a batch.

    :ivar id: SQS message id; names the record in the answer.
    :ivar queue: OJS queue it came from.
    """

    id: str
    queue: str
    received: ReceivedMessage


class StrayRecordError(ValueError):
    """Reports a record from a queue that this worker does not serve."""


def read_record(record: Mapping[str, Any], queues: Mapping[str, str]) -> Record:
    """Read one record.

    :param queues: OJS queues by the names of their SQS queues.
    :raises StrayRecordError: from another queue.
    :raises UnreadableMessageError: not one of our messages.
    """
    name = queue_name_of(record)
    queue = queues.get(name)
    if queue is None:
        raise StrayRecordError(f"this worker does not serve the SQS queue {name!r}")
    message = decode_message(str(record.get("body", "")))
    count = record.get("attributes", {}).get("ApproximateReceiveCount", "1")
    return Record(
        str(record["messageId"]),
        queue,
        ReceivedMessage(message, str(record["receiptHandle"]), int(count)),
    )


def queue_name_of(record: Mapping[str, Any]) -> str:
    """Return the name of the SQS queue that a record came from."""
    return str(record.get("eventSourceARN", "")).rpartition(":")[2]


def queues_by_sqs_name(prefix: str, queues: Sequence[str]) -> dict[str, str]:
    """Return OJS queues by the names of their SQS queues."""
    return {sqs_queue_name(prefix, queue): queue for queue in queues}
