"""One invocation of a Lambda worker: a batch of messages, and the time it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.adapters.sqs.codec import UnreadableMessageError
from ojs_aws.client.timer import Timer
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.validation import MAX_VISIBILITY_MS
from ojs_aws.services.backend import Backend
from ojs_aws.services.fetch import Claimed
from ojs_aws.services.render import render_job
from ojs_aws.services.waking import seconds_until
from ojs_aws.worker.active import ActiveJob
from ojs_aws.worker.contexts import WorkerContext
from ojs_aws.worker.directly import DirectReservations
from ojs_aws.worker.executor import Executor
from ojs_aws.worker.heartbeats import own_visibility_s
from ojs_aws.worker.records import Record, StrayRecordError, read_record
from ojs_aws.worker.reporting import Reported, Reporter

AFTERLIFE_S: Final = 5.0
"""How long a reservation outlives the invocation that holds it, in seconds."""

BEATS_PER_RESERVATION: Final = 3

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Invocation:
    """Executes one batch. Used once, in one event loop.

    :ivar queues: OJS queues by the names of their SQS queues.
    :ivar worker_id: unique to the invocation, so that a job which comes back to the same process
        is not taken for the one that was given up.
    :ivar seconds: until Lambda ends the invocation.
    :ivar margin_s: how much of that is kept back for reports.
    """

    executor: Executor
    backend: Backend
    queues: Mapping[str, str]
    worker_id: str
    seconds: float
    margin_s: float
    timer: Timer
    _active: list[ActiveJob] = field(default_factory=list)
    _is_over: bool = False
    _claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        """Note when the time is over."""
        self._deadline = self.timer.monotonic() + self.seconds

    async def run(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Execute the jobs of the records.

        :returns: ids of the messages that must come back.
        """
        works = [asyncio.ensure_future(self._safely(record)) for record in records]
        await self._wait(works, self.seconds - self.margin_s)
        self._is_over = True
        for active in self._active:
            if active.give_up("the invocation's time is over"):
                _log.warning("Job %s is given up: no time left; it comes back", active.job.id)
        await self._wait(works, self.margin_s / 2)
        kept = [
            str(record.get("messageId", ""))
            for record, work in zip(records, works, strict=True)
            if not work.done() or work.result()
        ]
        for work in works:
            work.cancel()
        return kept

    async def _wait(self, works: Sequence[asyncio.Task[bool]], seconds: float) -> None:
        """Wait for all the works, but not longer than so many seconds."""
        if not works:
            return
        over = asyncio.ensure_future(self.timer.sleep(max(0.0, seconds)))
        everything = asyncio.ensure_future(asyncio.wait(works))
        either: set[asyncio.Future[Any]] = {over, everything}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            everything.cancel()

    # ------------------------------------------------------------------ one message
    async def _safely(self, raw: Mapping[str, Any]) -> bool:
        """Work on a message; whether it must come back."""
        try:
            return await self._work_on(read_record(raw, self.queues))
        except (StrayRecordError, UnreadableMessageError) as problem:
            _log.error("Message %s cannot be read: %s", raw.get("messageId"), problem)
        except OjsError as problem:
            _log.warning("Message %s comes back: %s", raw.get("messageId"), problem)
        except Exception:  # noqa: BLE001 - a bug must not lose the other messages of the batch
            _log.exception("Message %s comes back", raw.get("messageId"))
        return True

    async def _work_on(self, record: Record) -> bool:
        """Claim, execute, report; whether the message must come back."""
        claimed = await self._claim(record)
        if claimed.record is None:
            return claimed.keep_message
        if self._is_over:
            await self._hide(record, claimed.record)
            return True
        held = DirectReservations(self.backend, self.worker_id, self._reservation_ms())
        active = self._activate(claimed.record, held)
        keeping = asyncio.ensure_future(self._keep(active, held))
        try:
            outcome = await active.execute(self.executor)
        finally:
            keeping.cancel()
        if outcome is None:
            await self._hide(record, claimed.record)
            return True
        reported = await Reporter(self.timer).report(held, active.job, outcome)
        return reported is not Reported.ACCEPTED

    async def _claim(self, record: Record) -> Claimed:
        """Claim a job, one message after the other.

        All messages permit the first job in line: claims side by side would only take it from
        each other.
        """
        async with self._claiming:
            if self._is_over:
                return Claimed(None, keep_message=True)
            return await asyncio.to_thread(
                self.backend.fetch.claim_message,
                record.queue,
                record.received,
                self.worker_id,
                self._reservation_ms(),
            )

    def _activate(self, record: JobRecord, held: DirectReservations) -> ActiveJob:
        async def extend(job_id: str) -> bool:
            pulse = await held.heartbeat([job_id], "running")
            return job_id not in pulse.cancelled | pulse.lost

        job = Job.from_members(render_job(record))
        active = ActiveJob(WorkerContext(job, extend=extend, deadline=self._deadline))
        self._active.append(active)
        return active

    async def _keep(self, active: ActiveJob, held: DirectReservations) -> None:
        """Beat for a job whose own reservation is shorter than the invocation."""
        own_s = own_visibility_s(active.job)
        if own_s is None or own_s > self.seconds:
            return
        while True:
            await self.timer.sleep(own_s / BEATS_PER_RESERVATION)
            with suppress(OjsError):  # the next beat tries again
                pulse = await held.heartbeat([active.job.id], "running")
                if active.job.id in pulse.cancelled | pulse.lost:
                    active.give_up("cancelled, or the reservation was lost")
                    return

    async def _hide(self, record: Record, job: JobRecord) -> None:
        """Let the message come back when the reservation ends, not at the queue's own pace."""
        if job.reservation is not None:
            seconds = seconds_until(job.reservation.due_at, self.backend.clock.now())
            handles = [(record.received.handle, seconds)]
            await asyncio.to_thread(self.backend.waking.hide, record.queue, handles)

    def _reservation_ms(self) -> int:
        return min(round((self.seconds + AFTERLIFE_S) * 1000), MAX_VISIBILITY_MS)
