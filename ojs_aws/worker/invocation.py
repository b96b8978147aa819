"""Runs one invocation of a Lambda worker: a batch of messages, and the time it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ojs_aws.adapters.sqs import UnreadableMessageError
from ojs_aws.client.timer import Timer, first_of
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.events import trace_of
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.job_policies import LimitOfType
from ojs_aws.domain.jobs.held_job import attempt_of
from ojs_aws.domain.jobs.validation import MAX_VISIBILITY_MS
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.service import Claimed
from ojs_aws.services.jobs.render import render_job
from ojs_aws.services.stored_jobs.messages import seconds_until
from ojs_aws.transport.tracing import NO_TRACING, Span, Tracing
from ojs_aws.worker.directly import (
    DirectReservations,
    Record,
    StrayRecordError,
    queue_name_of,
    read_record,
)
from ojs_aws.worker.executor import ActiveJob, Executor, Failed, Outcome, Snoozed, Succeeded, about
from ojs_aws.worker.reports import BEATS_PER_RESERVATION, Reported, Reporter
from ojs_aws.worker.reservations import WorkerContext

AFTERLIFE_S: Final = 5.0
"""How long a reservation outlives the invocation that holds it, in seconds."""

GIVE_UP: Final = 0.75
"""Part of the margin that is left when jobs are given up. The margin begins at their deadline:
those with a timeout have failed by then, and said so."""

CLAIMED_TOGETHER: Final = 10
"""Messages of a queue for which jobs are claimed before the first of these jobs is executed."""

EXECUTE_SPAN: Final = "ojs.job.execute"
_logger = logging.getLogger(__name__)
_STATUS: Final = {Succeeded: "completed", Failed: "failed", Snoozed: "snoozed"}


def _span_attributes(job: JobRecord) -> dict[str, str | int]:
    """Return what a span says of a job; its trace leads to the enqueueing span."""
    return {
        "job_id": job.id,
        "job_type": job.type,
        "queue": job.queue,
        "attempt": job.attempt,
        "trace_id": trace_of(job.document),
    }


def _record_outcome(span: Span, outcome: Outcome | None, active: ActiveJob) -> None:
    """Record how a job ended; one that is given up comes back, and is no failure."""
    if isinstance(outcome, Failed):
        kind, message = outcome.error.get("type"), outcome.error.get("message")
        span.fail(str(kind or ""), str(message or ""))
    unreported = "handed_over" if active.ctx.is_handed_over else "given_up"
    span.note(status=_STATUS.get(type(outcome), unreported))


LimitsOf: TypeAlias = Callable[[str], LimitOfType | None]
"""Returns for a queue the limits that job types have by its bindings; None where none has one."""


@dataclass(slots=True)
class Turn:
    """Holds one message of the batch, and the claim of its job."""

    record: Record
    claim: asyncio.Future[Claimed] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, outcome: Claimed | Exception) -> None:
        """Set the result of the claim, unless nobody waits for it any more."""
        if self.claim.done():
            return
        if isinstance(outcome, Exception):
            self.claim.set_exception(outcome)
        else:
            self.claim.set_result(outcome)


@dataclass(slots=True, kw_only=True)
class Invocation:
    """Executes one batch. Used once, in one event loop.

    :ivar queues: OJS queues by the names of their SQS queues.
    :ivar worker_id: unique to the invocation, so that a job which comes back to the same process
        is not taken for the one that was given up.
    :ivar seconds: until Lambda ends the invocation.
    :ivar margin_s: how much of that is kept back for reports.
    :ivar tracing: has a span for each job.
    :ivar limits_of: returns for a queue the limits that job types have by their bindings.
    """

    executor: Executor
    backend: Backend
    queues: Mapping[str, str]
    worker_id: str
    seconds: float
    margin_s: float
    timer: Timer
    tracing: Tracing = NO_TRACING
    limits_of: LimitsOf | None = None
    _active: list[ActiveJob] = field(default_factory=list)
    _unreadable: list[Mapping[str, Any]] = field(default_factory=list)
    _is_over: bool = False
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        """Note when the time is over."""
        self._deadline = self.timer.monotonic() + self.seconds

    async def run(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Execute the jobs of the records.

        :returns: ids of the messages that must come back.
        """
        turns = [Turn(record) for raw in records if (record := self._read(raw)) is not None]
        rejects = [asyncio.ensure_future(self._reject(raw)) for raw in self._unreadable]
        claiming = self._claim_all(turns)
        works = [asyncio.ensure_future(self._safely(turn)) for turn in turns]
        await self._wait([*works, *rejects], self.seconds - self.margin_s * GIVE_UP)
        self._is_over = True
        for active in self._active:
            if active.give_up("the invocation's time is over"):
                said = "Job %s is given up: no time left; it comes back"
                _logger.warning(said, active.job.id, extra=about(active.job))
        await self._wait(works, self.margin_s / 2)
        done = {
            turn.record.id
            for turn, work in zip(turns, works, strict=True)
            if work.done() and not work.result()
        }
        done |= {task.result() for task in rejects if task.done()}
        tasks: list[asyncio.Future[Any]] = [*works, *rejects, *claiming]
        for task in tasks:
            task.cancel()
        ids = [str(record.get("messageId", "")) for record in records]
        return [message_id for message_id in ids if message_id not in done]

    async def _wait(self, works: Sequence[asyncio.Future[Any]], seconds: float) -> None:
        """Wait for all tasks, but not longer than this many seconds."""
        if works:
            await first_of(self.timer.sleep(max(0.0, seconds)), asyncio.wait(works))

    # ------------------------------------------------------------------ one message
    def _read(self, raw: Mapping[str, Any]) -> Record | None:
        """Return one record; None for an unreadable one.

        One that nobody can decode is noted; that of another queue comes back.
        """
        try:
            return read_record(raw, self.queues)
        except (StrayRecordError, UnreadableMessageError) as problem:
            _logger.error("Message %s cannot be read: %s", raw.get("messageId"), problem)
            if isinstance(problem, UnreadableMessageError):
                self._unreadable.append(raw)
        except Exception:  # one record must not lose the other messages of the batch
            _logger.exception("Message %s comes back", raw.get("messageId"))
        return None

    async def _reject(self, raw: Mapping[str, Any]) -> str:
        """Move a message to the dead-letter queue; return its id, empty if it stays."""
        queue = self.queues[queue_name_of(raw)]
        job_messages, body = self.backend.job_messages, str(raw.get("body", ""))
        try:
            is_moved = await asyncio.to_thread(job_messages.reject, queue, body)
        except Exception:  # one record must not lose the other messages of the batch
            _logger.exception("Message %s comes back", raw.get("messageId"))
            return ""
        return str(raw.get("messageId", "")) if is_moved else ""

    async def _safely(self, turn: Turn) -> bool:
        """Process a message; return whether it must come back, also after an error."""
        try:
            return await self._work_on(turn.record, await turn.claim)
        except OjsError as problem:
            _logger.warning("Message %s comes back: %s", turn.record.id, problem)
        except Exception:  # a bug must not lose the other messages of the batch
            _logger.exception("Message %s comes back", turn.record.id)
        return True

    async def _work_on(self, record: Record, claimed: Claimed) -> bool:
        """Execute and report a job; return whether its message must come back."""
        if claimed.record is None:
            return claimed.keep_message
        if self._is_over:
            await self._hide(record, claimed.record)
            return True
        held = DirectReservations(
            self.backend, self.worker_id, self._reservation_ms(), claimed.record
        )
        active = self._activate(claimed.record, held)
        with self.tracing.span(EXECUTE_SPAN, **_span_attributes(claimed.record)) as span:
            keeping = asyncio.ensure_future(self._keep(active, held))
            try:
                outcome = await active.execute(self.executor)
            finally:
                keeping.cancel()
            _record_outcome(span, outcome, active)
        if outcome is None:
            if not active.ctx.is_handed_over:  # who has it now hides the message for longer
                await self._hide(record, claimed.record)
            return True
        reported = await Reporter(self.timer).report(held, active.job, outcome)
        if reported is not Reported.ACCEPTED:
            return True
        if claimed.record.reservation is not None and claimed.record.reservation.slots:
            now = self.backend.clock.now()
            await asyncio.to_thread(self.backend.job_messages.pass_on, claimed.record, now)
        return False

    def _claim_all(self, turns: Sequence[Turn]) -> list[asyncio.Future[None]]:
        """Start to claim jobs: the messages of a queue together, some at a time.

        Each message may claim only the first job in line. Claims side by side would take it from
        each other, and each would look at the head of the queue again.
        """
        by_queue: dict[str, list[Turn]] = {}
        for turn in turns:
            by_queue.setdefault(turn.record.queue, []).append(turn)
        return [
            asyncio.ensure_future(self._claim_queue(queue, each))
            for queue, each in by_queue.items()
        ]

    async def _claim_queue(self, queue: str, turns: Sequence[Turn]) -> None:
        for begin in range(0, len(turns), CLAIMED_TOGETHER):
            some = turns[begin : begin + CLAIMED_TOGETHER]
            try:
                outcomes = await self._claim(queue, [turn.record.received for turn in some])
            except Exception as problem:  # noqa: BLE001 - passed to those who wait for it
                for turn in some:
                    turn.settle(problem)
            else:
                for turn, claimed in zip(some, outcomes, strict=True):
                    turn.settle(claimed)

    async def _claim(self, queue: str, received: Sequence[ReceivedMessage]) -> list[Claimed]:
        if self._is_over:
            return [Claimed(None, keep_message=True) for _ in received]

        def claim() -> list[Claimed]:
            of_binding = None if self.limits_of is None else self.limits_of(queue)
            visibility_ms, fetch = self._reservation_ms(), self.backend.jobs.fetch
            return fetch.claim_messages(queue, received, self.worker_id, visibility_ms, of_binding)

        return await asyncio.to_thread(claim)

    def _activate(self, record: JobRecord, held: DirectReservations) -> ActiveJob:
        job = Job.from_members(render_job(record))
        deadline = self._deadline - self.margin_s
        ctx = WorkerContext(
            job,
            extend=held.extend,
            held=held,
            reservation_id=attempt_of(record).reservation_id or "",
            deadline=deadline,
            timer=self.timer,
        )
        active = ActiveJob(ctx)
        self._active.append(active)
        return active

    async def _keep(self, active: ActiveJob, held: DirectReservations) -> None:
        """Send heartbeats for a job whose own reservation is shorter than the invocation."""
        own_s = active.job.visibility_timeout
        if own_s is None or own_s > self.seconds:
            return
        while True:
            await self.timer.sleep(own_s / BEATS_PER_RESERVATION)
            with suppress(OjsError):  # the next beat tries again
                if not await held.extend(active.job.id):
                    active.give_up("cancelled, or the reservation was lost")
                    return

    async def _hide(self, record: Record, job: JobRecord) -> None:
        """Hide the message until the reservation ends, instead of the queue's own timeout."""
        if job.reservation is not None:
            seconds = seconds_until(job.reservation.due_at, self.backend.clock.now())
            handles = [(record.received.handle, seconds)]
            await asyncio.to_thread(self.backend.job_messages.hide, record.queue, handles)

    def _reservation_ms(self) -> int:
        return min(round((self.seconds + AFTERLIFE_S) * 1000), MAX_VISIBILITY_MS)
