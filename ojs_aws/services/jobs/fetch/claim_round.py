"""Runs one queue's round of a FETCH: claims jobs, and returns the messages it did not need.

A message is a permission to run one job of its queue, and a hint which. The head of the ready list
says which job is first (``queue_line``). Jobs are claimed one by one (``job_claims``), and messages
that no job was claimed with are given back (``unused_messages``).

A message does not stand for the job that it names, but for one of its queue. Where fetches overlap,
one may run job A with the message of B, which the other did not see yet: then B needs the message
of A, though A is taken or over. So a message is given up, or hidden until the job that it names
needs it, only by a round that saw no other job in line, and late enough to have seen all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import Candidate, QueueSnapshot
from ojs_aws.services.jobs.fetch.job_claims import JobClaims
from ojs_aws.services.jobs.fetch.queue_line import QueueLine
from ojs_aws.services.limits.check import LimitCheck, message_backoff
from ojs_aws.services.stored_jobs.messages import MAX_HIDDEN, JobMessages, seconds_until
from ojs_aws.topology import MAX_DELAY_S

AGAIN_S: Final = 2
"""When a message comes back that another job may need (seconds)."""

FAILED_AGAIN_S: Final = 60
"""When the message of a job comes back that could not be read or written (seconds)."""

RECENT_MS: Final = AGAIN_S * 1000
"""What was done to a job within this before a round may have been done after it had looked at the
queue: clocks differ by less, and the index is late by less. So a message comes back once."""
FURTHER_TRIES: Final = 2
"""Claims that may be lost after a further look, at least."""

MAX_LOOKS: Final = 4
"""How often a round looks who is first in line while others are faster with all that it sees."""

_logger = logging.getLogger(__name__)


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
        is_limited = is_limited or self.limiting.limits_tenant(job.tenant)
        if is_limited and job.state.is_terminal and not message.sort_key:
            return False  # sent when the job ended, for who waits for its place; one more than jobs
        return deadlines.last_change(job) >= self.began - RECENT_MS


@dataclass(slots=True)
class ClaimRound:
    """Runs one round; it lives for one request and one queue."""

    claims: JobClaims
    line: QueueLine = field(init=False)

    def __post_init__(self) -> None:
        """Look at the line of the same queue."""
        self.line = QueueLine(self.claims)

    def run(
        self, first: QueueSnapshot, need: int, again: Callable[[int], QueueSnapshot]
    ) -> list[JobRecord]:
        """Claim up to ``need`` jobs in fetch order: ready ones, and those that became due.

        :param first: who was first in line just now.
        :param again: looks again, so that there is room for so many jobs; for when others were
            faster with all that were seen.

        A job that cannot be read or written is passed over. An error that comes after the first
        claim ends the round at most: the jobs that were claimed must reach the worker.

        :raises Exception: the first error, where no job was claimed.
        """
        claims, head = self.claims, first.head
        claims.tries_left += 2 * need
        claims.limiting.is_whole = bool(head.limit)
        try:
            self._claim_line(first, need, again)
            if len(claims.claimed) < need and claims.limiting.has_passed_by:
                self._claim_all(self.line.beyond(head), need)
            if len(claims.claimed) < need:
                self._claim_all(self.line.swapped(), need)
        except Exception:
            if not claims.claimed:
                raise
            claims.is_overtaken = True
            _logger.warning("A fetch ended after %d claims", len(claims.claimed), exc_info=True)
        if not claims.claimed and claims.errors.first is not None:
            raise claims.errors.first
        return claims.claimed

    def _claim_line(
        self, look: QueueSnapshot, need: int, again: Callable[[int], QueueSnapshot]
    ) -> None:
        """Claim the first jobs in fetch order.

        Once a claim was lost, fetches overlap. Going on in order, all would lose to one another,
        job by job. So each takes another one of the same priority: its own message's, or any.
        """
        claims = self.claims
        line = {each.id: each for each in self.line.first(look)}
        looks_left = MAX_LOOKS - 1
        while len(claims.claimed) < need and not claims.is_full():
            line |= claims.come_back()
            best = min(line.values(), key=self.line.turn, default=None)
            if claims.lost and looks_left and (claims.tries_left <= 0 or look.may_hide(best)):
                looks_left -= 1
                missing = need - len(claims.claimed)
                look = again(missing + claims.lost)
                claims.tries_left = max(claims.tries_left, missing + FURTHER_TRIES)
                fresh = [each for each in look.shown() if each.id not in claims.seen]
                left = [each for each in line.values() if not each.is_listed]
                line = {each.id: each for each in (*left, *fresh)}
                continue
            if best is None or claims.tries_left <= 0:
                return
            del line[best.id]
            if best.waits:
                due = {each.id: each for each in self.line.settled([best.id])}
                claims.is_overtaken |= not due
                line |= due
            else:
                claims.claim(best)

    def _claim_all(self, candidates: Iterable[Candidate], need: int) -> None:
        for candidate in candidates:
            if self.claims.is_done(need):
                return
            self.claims.claim(candidate)
            for returned in self.claims.come_back().values():
                self.claims.claim(returned)

    def release(self) -> frozenset[str]:
        """Give back the messages that found nothing to run.

        :returns: handles of those that were kept (made visible later) rather than deleted.
        """
        claims = self.claims
        held, claims.held = claims.held, []
        is_complete = not (claims.is_overtaken or claims.tries_left <= 0 or claims.is_full())
        left = UnusedMessages(
            claims.options.queue,
            claims.job_messages,
            claims.limiting,
            claims.seen,
            claims.now,
            began=claims.began,
            is_complete=is_complete,
            failed=claims.errors.ids,
        )
        return left.give_back(held)
