"""Returns the messages for which a FETCH found nothing to run.

A message does not stand for the job that it names, but for one of its queue. Where fetches overlap,
one may run job A with the message of B, which the other did not see yet: then B needs the message
of A, though A is taken or over. So a message is given up, or hidden until the job that it names
needs it, only by a round that saw no other job in line, and late enough to have seen all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.queues.state import ReceivedMessage
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.messages import MAX_HIDDEN, JobMessages, seconds_until
from ojs_aws.services.limits.check import LimitCheck, message_backoff
from ojs_aws.topology import MAX_DELAY_S

AGAIN_S: Final = 2
"""When a message comes back that another job may need (seconds)."""

FAILED_AGAIN_S: Final = 60
"""When the message of a job comes back that could not be read or written (seconds)."""

RECENT_MS: Final = AGAIN_S * 1000
"""What was done to a job within this before a round may have been done after it had looked at the
queue: clocks differ by less, and the index is late by less. So a message comes back once."""


@dataclass(frozen=True, slots=True)
class UnusedMessages:
    """Ends one queue's round.

    :ivar seen: what the jobs that were looked at were found to be; None for one that is gone.
    :ivar began: when the round began.
    :ivar is_complete: it claimed all that it saw in line, and lost nothing to others.
    :ivar failed: jobs that could not be read or written.
    """

    queue: str
    job_messages: JobMessages
    limiting: LimitCheck
    seen: Mapping[str, JobRecord | None]
    now: Instant
    began: Instant
    is_complete: bool
    failed: Collection[str] = ()

    def give_back(self, messages: Sequence[ReceivedMessage]) -> frozenset[str]:
        """Delete messages that no job needs, and hide the others until they are needed.

        :returns: handles of those that were kept (made visible later) rather than deleted.
        """
        stray: list[str] = []
        later: list[tuple[str, int]] = []
        aside: list[ReceivedMessage] = []
        for received in messages:
            if self._waits_for_a_limit(received):
                aside.append(received)
                continue
            seconds = self._comes_back_in(received)
            if seconds is None:
                stray.append(received.handle)
            else:
                later.append((received.handle, seconds))
        self.job_messages.discard(self.queue, stray)
        self.job_messages.hide(self.queue, later)
        kept = self._set_aside(aside) if aside else frozenset()
        return kept | {handle for handle, _ in later}

    def _waits_for_a_limit(self, received: ReceivedMessage) -> bool:
        """Return whether a job needs this message that has to wait for a limit.

        Its own job may have been run under the message of one that waits: then it stands for that.
        """
        message = received.message
        if not self.limiting.has_passed_by:
            return False
        job = self.seen.get(message.job_id)
        if job is None:
            return message.job_id not in self.seen
        if job.reservation is not None:
            return job.reservation.message_job_id not in {"", job.id}
        return job.state is JobState.AVAILABLE or (job.state.is_terminal and bool(message.sort_key))

    def _set_aside(self, messages: Sequence[ReceivedMessage]) -> frozenset[str]:
        """Hide messages of jobs that would be passed by again, spread over time."""
        waiting = self.job_messages.waiting(self.queue)
        spreading = message_backoff(self.limiting.refused.values(), waiting, self.now)
        wanted = [(each, spreading.seconds(each.handle)) for each in messages]
        return self.job_messages.set_aside(
            self.queue, wanted, self.now, can_hide=waiting <= MAX_HIDDEN
        )

    def _comes_back_in(self, received: ReceivedMessage) -> int | None:
        """Return after how many seconds a message is needed again; None for never."""
        job_id = received.message.job_id
        if job_id in self.failed or job_id not in self.seen:
            return FAILED_AGAIN_S if job_id in self.failed else 0
        job = self.seen[job_id]
        is_ready = job is not None and job.state is JobState.AVAILABLE
        if not is_ready and (not self.is_complete or self._was_just_taken(received)):
            return AGAIN_S
        if job is None or job.state.is_terminal or job.state is JobState.PENDING:
            return None
        if job.state is JobState.AVAILABLE:
            return 0
        due = job.reservation.due_at if job.reservation else job.next_attempt_at or job.scheduled_at
        seconds = seconds_until(due, self.now) if due is not None else 0
        if job.state is not JobState.ACTIVE and seconds > MAX_DELAY_S:
            return None  # the sweep arms it
        return max(seconds, 1)

    def _was_just_taken(self, received: ReceivedMessage) -> bool:
        """Return whether its job just ran, maybe with the message of another job."""
        message = received.message
        job = self.seen[message.job_id]
        if job is None or not job.attempt:
            return False
        held = job.reservation
        if held is not None and held.message_job_id in {"", job.id}:
            return False
        is_limited = job.limit is not None or self.limiting.types or self.limiting.is_whole
        if is_limited and job.state.is_terminal and not message.sort_key:
            return False  # sent when the job ended, for who waits for its place; one more than jobs
        return deadlines.last_change(job) >= self.began - RECENT_MS
