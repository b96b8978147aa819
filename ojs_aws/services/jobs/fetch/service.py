"""Implements FETCH: claims the first jobs of one or more queues (core, section 7.2)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.job_policies import LimitOfType
from ojs_aws.domain.jobs.lists import Head
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.domain.runtime import Parallel
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import HEAD_SPARE, MARKS, PAGE, QueueSnapshot
from ojs_aws.services.jobs.fetch.claim_round import ClaimRound
from ojs_aws.services.jobs.fetch.job_claims import MAX_CLAIMED_BYTES, ClaimOptions, JobClaims
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.limits.check import LimitedTypes
from ojs_aws.services.stored_jobs.change import PATIENCE_MS, JobChanger
from ojs_aws.services.stored_jobs.messages import JobMessages
from ojs_aws.services.workers import DrainState, VisibilityTimeouts

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.sqs import MessageQueue
    from ojs_aws.services.jobs.fetch.wide_queue import WideQueues

MAX_RECEIVE = 10
TENANT_HEAD = 95
"""Rows of the head that a FETCH of one tenant reads first, less the spare ones."""

PAUSED_FOR_S = 900
"""How long a message that invoked a worker of a paused queue is set aside, in seconds."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claimed:
    """Holds the result of a message: a claimed job or none, and whether the message must stay."""

    record: JobRecord | None
    keep_message: bool = False


@dataclass(frozen=True, slots=True)
class Fetch:
    """Claims jobs: receives messages and reads the head in parallel, then claims one by one.

    :ivar wide: chooses the lines of wide queues; None where there are none.
    """

    messages: MessageQueue
    changer: JobChanger
    job_messages: JobMessages
    parallel: Parallel
    default_timeout_ms: int
    visibility: VisibilityTimeouts
    max_count: int
    wait_ms: int
    draining: DrainState
    limits: Callable[[], Limits]
    limited_types: LimitedTypes
    new_reservation_id: Callable[[], str]
    wide: WideQueues | None = None

    def __call__(self, request: FetchRequest) -> list[JobRecord]:
        """Claim up to ``count`` jobs, queues strictly from left to right; none while it drains.

        :raises InvalidRequestError: no queue, a bad name, or a count out of range.
        """
        request.check(self.max_count)
        if self.draining.holds(request.worker_id, self.changer.clock.now()):
            return []
        claimed = self._once(request, wait_s=0)
        if not claimed and self.wait_ms > 0 and not request.tenant:
            claimed = self._once(request, wait_s=max(1, self.wait_ms // 1000))
        return self._filled(claimed)

    def claim_messages(
        self,
        queue: str,
        received: Sequence[ReceivedMessage],
        worker_id: str,
        visibility_timeout_ms: int | None = None,
        of_binding: LimitOfType | None = None,
    ) -> list[Claimed]:
        """Claim the jobs that delivered messages permit: their own, or those before them in line.

        The head of the queue is looked at once for all of them.

        :param visibility_timeout_ms: reservation length for a job that has none of its own.
        :param of_binding: returns the limit that jobs of a type have by their binding; None where
            no binding has one.
        :returns: what each of the messages led to.
        """
        request = FetchRequest((queue,), len(received), worker_id, visibility_timeout_ms)
        wide_look = None
        if self.wide is not None and queue in self.wide.lines:
            wide_look = self.wide.look(queue, received, goes_further=False)
        look_again: Callable[[int], QueueSnapshot] = wide_look or partial(self._look, queue)
        look = look_again(len(received))
        if look.head.is_paused:
            self.job_messages.hide(queue, [(each.handle, PAUSED_FOR_S) for each in received])
            return [Claimed(None, keep_message=True) for _ in received]
        turn = self._round(
            queue, request, list(received), look.head, needs_message=wide_look is not None
        )
        turn.claims.limiting.of_binding = of_binding
        if wide_look is not None:
            turn.line = wide_look.line(turn.claims)
        claimed = turn.run(look, len(received), look_again)
        kept = turn.release()
        whole = {job.id: job for job in self._filled(claimed)}

        def outcome(handle: str) -> Claimed:
            job = turn.claims.under.pop(handle, None)  # a message may be in the batch twice
            if job is None:
                return Claimed(None, handle in kept)
            return Claimed(whole.get(job.id), keep_message=True)

        return [outcome(each.handle) for each in received]

    def _filled(self, jobs: Sequence[JobRecord]) -> list[JobRecord]:
        """Return the claimed jobs with their documents.

        One whose documents cannot be read does not keep the others from the worker; it comes back
        when its reservation ends.

        :raises OjsError: none of them can.
        """
        filled = self.changer.store.fill_many(jobs)
        whole = [job for job in filled if isinstance(job, JobRecord)]
        for job, problem in zip(jobs, filled, strict=True):
            if isinstance(problem, OjsError):
                if not whole:
                    raise problem
                _logger.warning("Could not read the documents of job %s", job.id, exc_info=problem)
        return whole

    def _once(self, request: FetchRequest, wait_s: int) -> list[JobRecord]:
        """Claim from one queue after another; one that fails does not stop the others.

        :raises Exception: the first error, where no queue gave a job.
        """
        claimed: list[JobRecord] = []
        failed: Exception | None = None
        began = self.changer.clock.now()
        for queue in request.queues:
            need = request.count - len(claimed)
            if need <= 0 or sum(job.document_bytes for job in claimed) >= MAX_CLAIMED_BYTES:
                break
            if failed is not None and self.changer.clock.now() > began + PATIENCE_MS:
                break
            try:
                claimed += self._from(queue, request, need, wait_s)
            except Exception as problem:  # one queue must not stop the others
                _logger.exception("Could not fetch from queue %s", queue)
                failed = failed or problem
            wait_s = 0
        if failed is not None and not claimed:
            raise failed
        return claimed

    def _from(self, queue: str, request: FetchRequest, need: int, wait_s: int) -> list[JobRecord]:
        if request.tenant:
            return self._from_tenant(queue, request, need)
        if self.wide is not None and queue in self.wide.lines:
            return self._from_wide(self.wide, queue, request, need, wait_s)

        def look() -> QueueSnapshot:
            return self._look(queue, need)

        def receive() -> list[ReceivedMessage]:
            return self._receive(queue, min(need, MAX_RECEIVE), request, wait_s) or []

        if wait_s:  # what arrives during the wait must be in the head that is looked at
            received, first = receive(), look()
        else:
            received, first = self.parallel.both(receive, look)
        if first.head.is_paused:
            return []  # its messages come back by themselves, and a resume does not need them
        turn = self._round(queue, request, received, first.head)
        claimed = turn.run(first, need, lambda room: self._look(queue, room))
        turn.release()
        return claimed

    def _from_wide(
        self, wide: WideQueues, queue: str, request: FetchRequest, need: int, wait_s: int
    ) -> list[JobRecord]:
        """Claim jobs of a wide queue; makes no query if there is no message."""
        received = self._receive(queue, min(need, MAX_RECEIVE), request, wait_s)
        if received is not None and not received:
            return []
        held = received or []
        look = wide.look(queue, held, goes_further=True)
        first = look(need)
        if first.head.is_paused:
            return []
        turn = self._round(queue, request, held, first.head)
        turn.line = look.line(turn.claims)
        claimed = turn.run(first, need, look)
        # Some were claimed without a message, maybe: jobs behind them may need what is left.
        turn.claims.is_overtaken |= len(claimed) >= need
        turn.release()
        return claimed

    def _from_tenant(self, queue: str, request: FetchRequest, need: int) -> list[JobRecord]:
        """Claim jobs of one tenant; without a message, as that may be of any tenant."""
        from ojs_aws.services.jobs.fetch.tenant_round import TenantRound  # few workers are of one

        first = self._look(queue, TENANT_HEAD)
        if first.head.is_paused:
            return []
        claims = self._round(queue, request, [], first.head).claims
        return TenantRound(claims, request.tenant).run(first, need)

    def _look(self, queue: str, need: int) -> QueueSnapshot:
        """Return the first jobs in fetch order: ready ones, and those that became due.

        Whether the queue is paused is known with the first; both are asked for side by side.
        """
        limit = max(PAGE, need + HEAD_SPARE)
        now = self.changer.clock.now()
        head, due = self.parallel.both(
            lambda: self.changer.store.head(queue, limit),
            lambda: self.changer.store.due(queue, Instant(0), now, limit),
        )
        return QueueSnapshot(head, due, is_partial=len(head.jobs) >= limit - MARKS)

    def _receive(
        self, queue: str, limit: int, request: FetchRequest, wait_s: int
    ) -> list[ReceivedMessage] | None:
        """Receive messages; return None if that fails."""
        try:
            return self.messages.receive(queue, limit, self._visibility_s(queue, request), wait_s)
        except (OjsError, QueueMissingError):
            # The head of the queue finds the jobs without it.
            _logger.warning("Could not receive from queue %s", queue)
            return None

    def _round(
        self,
        queue: str,
        request: FetchRequest,
        held: list[ReceivedMessage],
        head: Head,
        *,
        needs_message: bool = False,
    ) -> ClaimRound:
        received_for_s = self._visibility_s(queue, request)
        self.visibility.learn(queue, head.visibility_timeout_ms)
        fair_queues = self.changer.fair_queues
        (fair_queues.add if head.is_fair else fair_queues.discard)(queue)
        options = ClaimOptions(
            queue=queue,
            worker_id=request.worker_id,
            visibility_timeout_ms=request.visibility_timeout_ms or self.visibility.of(queue),
            default_visibility_ms=self.visibility.default_ms,
            silence_ms=request.silence_ms,
            listed_ms=request.listed_ms,
            timeout_ms=self.default_timeout_ms,
            message_visibility_s=received_for_s,
            new_reservation_id=self.new_reservation_id,
            needs_message=needs_message,
        )
        now: Instant = self.changer.clock.now()
        limiting = self.limited_types.check(queue)
        claims = JobClaims(
            self.changer, self.job_messages, options, now, held, limiting, self.limits
        )
        return ClaimRound(claims)

    def _visibility_s(self, queue: str, request: FetchRequest) -> int:
        """Return how long most reservations of this request last, to spare adjusting messages."""
        milliseconds = request.visibility_timeout_ms or self.visibility.of(queue)
        milliseconds = min(milliseconds, request.silence_ms or milliseconds)
        return -(-milliseconds // 1000)
