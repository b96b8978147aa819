"""FAIL: an active job becomes retryable or discarded (core, section 7.4; ojs-retry)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.failures import read_failure
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import Member
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import check_job_id
from ojs_aws.services.ack import check_holder
from ojs_aws.services.changing import Change, Changing
from ojs_aws.services.waking import Waking, seconds_until

HIDE_LIMIT_S: Final = 60
"""Backoffs up to this many seconds hide the message in hand, which saves a call. Longer ones
send a delayed message: hidden messages count against SQS's limit of 120,000 in flight."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Reports failed attempts: one conditional write, then the next attempt's message."""

    changing: Changing
    waking: Waking
    redact_backtraces: bool

    def __call__(
        self,
        job_id: str,
        worker_id: str | None,
        error: Mapping[str, Member],
        *,
        start: JobRecord | None = None,
        has_message: bool = True,
    ) -> JobRecord:
        """Record a failure and decide what follows.

        :param worker_id: the worker that says so; None when it gave no name.
        :param error: the members of the client's error object.
        :param start: the job as claimed, to save the read.
        :param has_message: False when whoever invoked the worker deletes the message itself.
        :raises InvalidRequestError: the error object is malformed.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: the job is not active, or not this worker's.
        """
        check_job_id(job_id)

        def decide(job: JobRecord, now: Instant) -> JobRecord:
            check_holder(job, "fail", worker_id)
            failure = read_failure(error, job.attempt, now)
            kept = failure.without_backtrace() if self.redact_backtraces else failure
            return lifecycle.fail(job, kept, now)

        read_failure(error, 0, self.changing.clock.now())  # a malformed one changes nothing
        change = self.changing.apply(job_id, decide, start=start)
        self._pass_on(change, has_message=has_message)
        return change.after

    def _pass_on(self, change: Change, *, has_message: bool) -> None:
        """Cover the next attempt by a message; the item is already written."""
        job, held, now = change.after, change.before.reservation, self.changing.clock.now()
        handle = held.message_handle if held and has_message else ""
        if job.state is JobState.RETRYABLE and job.next_attempt_at is not None:
            delay = seconds_until(job.next_attempt_at, now)
            if handle and delay <= HIDE_LIMIT_S and self.waking.hide(job.queue, [(handle, delay)]):
                return
            self.waking.cover([job], now)
        if handle:
            self.waking.discard(job.queue, [handle])
