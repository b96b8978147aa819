"""Implements FAIL: an active job becomes retryable or discarded (core, 7.4; ojs-retry).

With ``requeue`` it becomes available, and nothing has failed (NackRequest of the HTTP binding);
with a delay beside it, it waits as a retryable job does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.errors import InvalidRequestError, OjsError
from ojs_aws.domain.job import Failure, JobRecord
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.failures import read_failure
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, AttemptRef, Holder, check_holder
from ojs_aws.domain.json_text import Member, encode
from ojs_aws.domain.limits import LimitRefusal, type_key
from ojs_aws.domain.timestamps import Instant, parse_timestamp
from ojs_aws.services.stored_jobs.change import JobChange, JobChanger
from ojs_aws.services.stored_jobs.messages import JobMessages, seconds_until

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits

HIDE_LIMIT_S: Final = 60
"""Backoffs up to this many seconds hide the message in hand, which saves a call. Longer ones
send a delayed message: hidden messages count against SQS's limit of 120,000 in flight."""


MAX_BLOCK_MS: Final = 86_400_000

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fail:
    """Reports failed attempts: one conditional write, then the next attempt's message."""

    changer: JobChanger
    job_messages: JobMessages
    limits: Callable[[], Limits]
    redact_backtraces: bool
    redact_messages: bool = False

    def __call__(
        self,
        job_id: str,
        worker_id: str | None,
        error: Mapping[str, Member],
        *,
        which: AttemptRef = ANY_ATTEMPT,
        delay_ms: int | None = None,
        start: JobRecord | None = None,
        has_message: bool = True,
        wakes_next: bool = False,
    ) -> JobRecord:
        """Record a failure and decide what follows.

        :param worker_id: the worker that says so; None when it gave no name.
        :param error: the members of the client's error object.
        :param which: the attempt that has failed.
        :param delay_ms: how long a retry waits; None for as long as the policy says.
        :param start: the job as claimed, to save the read.
        :param has_message: False when whoever invoked the worker deletes the message itself.
        :param wakes_next: send a message for those that wait for the slots of the job. Who polls
            needs none, except from a wide queue.
        :raises InvalidRequestError: the error object is malformed.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: the job is not active, not this worker's, or another attempt of it
            is running.
        """
        holder = Holder(worker_id, which)

        def failed(job: JobRecord, now: Instant) -> JobRecord:
            check_holder(job, "fail", holder)
            return lifecycle.fail(job, self._failure(error, job, now), now, delay_ms)

        change = self._end_attempt(
            job_id, error, failed, start, has_message=has_message, wakes_next=wakes_next
        )
        until = blocked_until(error, self.changer.clock.now())
        if until is not None:
            self._block(change.before, until)
        return change.after

    def requeue(
        self,
        job_id: str,
        worker_id: str | None,
        error: Mapping[str, Member] | None,
        *,
        which: AttemptRef = ANY_ATTEMPT,
        delay_ms: int | None = None,
        start: JobRecord | None = None,
        has_message: bool = True,
        wakes_next: bool = False,
    ) -> JobRecord:
        """Give a job back: it is available at once, and the attempt does not count.

        :param worker_id: the worker that says so; None when it gave no name.
        :param error: why, whatever its ``retryable`` says; None for no reason.
        :param which: the attempt that is given back.
        :param delay_ms: how long the job is retryable before it is available; None for not at all.
        :param start: the job as claimed, to save the read.
        :param has_message: False when whoever invoked the worker deletes the message itself.
        :param wakes_next: send a message for those that wait for the slots of the job. Who polls
            needs none, except from a wide queue.
        :raises InvalidRequestError: the error object is malformed.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: the job is not active, not this worker's, or another attempt of it
            is running.
        """
        holder = Holder(worker_id, which)

        def requeued(job: JobRecord, now: Instant) -> JobRecord:
            check_holder(job, "requeue", holder)
            failure = None if error is None else self._failure(error, job, now)
            if delay_ms is None:
                return lifecycle.requeue(job, failure, now)
            return lifecycle.snooze(job, failure or _snoozed(job, now), delay_ms, now)

        change = self._end_attempt(
            job_id, error, requeued, start, has_message=has_message, wakes_next=wakes_next
        )
        return change.after

    def _end_attempt(
        self,
        job_id: str,
        error: Mapping[str, Member] | None,
        decide: Callable[[JobRecord, Instant], JobRecord],
        start: JobRecord | None,
        *,
        has_message: bool,
        wakes_next: bool,
    ) -> JobChange:
        """Write the end of an attempt, and send a message for the next one."""
        check_job_id(job_id)
        if error is not None:  # a malformed one changes nothing
            read_failure(error, 0, self.changer.clock.now())
        change = self.changer.apply(job_id, decide, start=start)
        self._send_for_next(change, has_message=has_message)
        if wakes_next or (has_message and change.before.queue in self.job_messages.wide):
            self.job_messages.pass_on(change.before, self.changer.clock.now())
        return change

    def _block(self, job: JobRecord, until: Instant) -> None:
        """Let no job of the same limit begin for a while (ojs-rate-limiting, section 9.1)."""
        key = blocked_key(job)
        if not key:
            return
        refusal = LimitRefusal("dynamic", until, current=1).render(self.changer.clock.now())
        reason = {**refusal, "reason": f"The handler of job {job.id} reported it."}
        try:
            self.limits().block(key, until, encode(reason))
        except OjsError:
            _logger.warning("Could not hold back limit %s", key, exc_info=True)

    def _failure(self, error: Mapping[str, Member], job: JobRecord, now: Instant) -> Failure:
        """Return what is stored of an error. Type and code stay: the retry policy reads them."""
        failure = read_failure(error, job.attempt, now)
        kept = failure.without_backtrace() if self.redact_backtraces else failure
        return kept.without_message() if self.redact_messages else kept

    def _send_for_next(self, change: JobChange, *, has_message: bool) -> None:
        """Send a message for the next attempt; the item is already written."""
        job, held, now = change.after, change.before.reservation, self.changer.clock.now()
        handle = held.message_handle if held and has_message else ""
        if not job.state.is_terminal:
            delay = seconds_until(job.next_attempt_at or now, now)
            if (
                handle
                and delay <= HIDE_LIMIT_S
                and self.job_messages.hide(job.queue, [(handle, delay)])
            ):
                return
            self.job_messages.send_for([job], now)
        if handle:
            self.job_messages.discard(job.queue, [handle])


def _snoozed(job: JobRecord, now: Instant) -> Failure:
    """Return the reason of a snooze that came without one: people see why the job waits."""
    return Failure(
        type="SnoozeError",
        code=lifecycle.SNOOZE,
        message="The worker asked for a later attempt.",
        attempt=job.attempt,
        occurred_at=now,
    )


def blocked_until(error: Mapping[str, Member], now: Instant) -> Instant | None:
    """Return when the handler says that jobs of this limit may begin again, a day at most.

    ``rate_limit_until`` of the error object, or of its details. What is no timestamp is only data.
    """
    member, details = error.get("rate_limit_until"), error.get("details")
    written = None if member is None else member.value
    if written is None and details is not None and isinstance(details.value, dict):
        written = details.value.get("rate_limit_until")
    try:
        until = None if written is None else parse_timestamp(written, "rate_limit_until")
    except InvalidRequestError:
        return None
    return min(until, Instant(now + MAX_BLOCK_MS)) if until is not None and until > now else None


def blocked_key(job: JobRecord) -> str:
    """Return the limit that a report concerns: the job's own, else its type's narrowest.

    Never that of a whole queue; empty for none.
    """
    if job.limit is not None:
        return job.limit.key
    slots = job.reservation.slots if job.reservation else ()
    own = [type_key(job.type, job.queue), type_key(job.type)]
    return next((key for key in own if key in slots), "")
