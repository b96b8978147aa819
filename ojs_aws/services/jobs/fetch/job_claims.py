"""Claim jobs one by one, each with a held message.

A job is claimed by one conditional write that also stores the held message, whatever job that
message names; the number of messages and of runnable jobs stays equal. A job with a limit takes a
slot in its buckets in the same transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.conflicts import BucketTakenError, StaleJobError
from ojs_aws.domain.errors import NotFoundError, OjsError
from ojs_aws.domain.job import JobRecord, JobState, Reservation
from ojs_aws.domain.job_policies import OnLimit
from ojs_aws.domain.jobs import deadlines, lifecycle
from ojs_aws.domain.jobs.ready_keys import ready_since
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.limits import Bucket, LimitRefusal
from ojs_aws.domain.queues import ReceivedMessage
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.candidates import Candidate, ready_job
from ojs_aws.services.limits.check import LimitCheck
from ojs_aws.services.stored_jobs.change import PATIENCE_MS, JobChanger, JobErrors
from ojs_aws.services.stored_jobs.messages import JobMessages, seconds_until

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits

MAX_CLAIMED_BYTES: Final = 3_000_000
"""Documents that one round claims at most, and one more: Lambda answers with 6 MB at most."""

SPARE_TRIES: Final = 8
"""Claims that may be lost to other fetchers before the round gives up."""

BUCKET_TRIES: Final = 3
"""Tries to take a slot that others take at the same time."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOptions:
    """Says how jobs are claimed.

    :ivar visibility_timeout_ms: reservation length where the job has none of its own.
    :ivar default_visibility_ms: the usual one, which reservations do not store.
    :ivar silence_ms: how long the worker may be silent before it counts as dead; None where it
        does not say how often it beats.
    :ivar listed_ms: how long after the claim the waiting list shows a job as due, if that is before
        it is; None to list it when it is due.
    :ivar timeout_ms: execution timeout where the index does not name one.
    :ivar message_visibility_s: visibility timeout that the held messages were received with.
    :ivar new_reservation_id: makes an id that no other claim of the job has.
    :ivar needs_message: whether no job may be claimed without a message of its line.
    """

    queue: str
    worker_id: str
    visibility_timeout_ms: int
    default_visibility_ms: int
    timeout_ms: int
    message_visibility_s: int
    new_reservation_id: Callable[[], str]
    silence_ms: int | None = None
    listed_ms: int | None = None
    needs_message: bool = False


@dataclass(slots=True)
class JobClaims:
    """Claims jobs of one queue for one request, and keeps what it has found out.

    :ivar held: held messages that no job was claimed with yet.
    :ivar under: the claimed jobs by the handles of their messages.
    :ivar seen: what the jobs that were looked at were found to be.
    :ivar lost: claims of listed jobs that others were faster with: fetches overlap.
    :ivar is_overtaken: others took what this round saw in line, or it ended before the line did:
        there may be jobs that only the held messages can bring to a worker.
    :ivar woken: jobs of lines of which no message is held, and the message that wakes each.
    :ivar returned: candidates that have another sort key than it seemed.
    :ivar began: when it began; what it saw of the queue is about as old.
    :ivar errors: of jobs that it passed over.
    """

    changer: JobChanger
    job_messages: JobMessages
    options: ClaimOptions
    now: Instant
    held: list[ReceivedMessage]
    limiting: LimitCheck
    limits: Callable[[], Limits]
    claimed: list[JobRecord] = field(default_factory=list)
    under: dict[str, JobRecord] = field(default_factory=dict)
    seen: dict[str, JobRecord | None] = field(default_factory=dict)
    tries_left: int = SPARE_TRIES
    lost: int = 0
    is_overtaken: bool = False
    woken: dict[str, str] = field(default_factory=dict)
    returned: list[Candidate] = field(default_factory=list)
    began: Instant = field(init=False)
    errors: JobErrors = field(init=False)

    def __post_init__(self) -> None:
        """Note when it begins."""
        self.began = self.now
        self.errors = JobErrors(lambda: self.changer.clock.now() > self.began + PATIENCE_MS)

    def is_full(self) -> bool:
        """Return True if the documents of the claimed jobs fill an answer."""
        return sum(job.document_bytes for job in self.claimed) >= MAX_CLAIMED_BYTES

    def is_done(self, need: int) -> bool:
        """Return True if there are enough jobs, or no more of them can be claimed."""
        return len(self.claimed) >= need or self.tries_left <= 0 or self.is_full()

    def note(self, job: JobRecord) -> Candidate | None:
        """Remember what a job was found to be; return a candidate if it can be claimed."""
        self.seen[job.id] = job
        if job.state is not JobState.AVAILABLE or job.queue != self.options.queue:
            return None
        return ready_job(job)

    def come_back(self) -> dict[str, Candidate]:
        """Take the candidates that turned out to have another sort key, or to be available."""
        back = {each.id: each for each in self.returned}
        self.returned.clear()
        return back

    def claim(self, candidate: Candidate) -> None:
        """Claim a job if it may begin; one whose write fails does not stop those behind it."""
        if self.limiting.refuses(candidate.limit_key, candidate.type, candidate.tenant):
            return
        received = self._message_for(candidate)
        if received is None and self.options.needs_message:
            return
        self.tries_left -= 1
        try:
            # What happened to the job since the round began must not come after its start, and nor
            # must what a process did whose clock is ahead.
            self.now = max(self.now, self.changer.clock.now(), ready_since(candidate.sort_key))
            reservation = self._reservation(candidate, received)
            job: JobRecord | None
            try:
                if keys := self.limiting.keys_of(
                    candidate.limit_key, candidate.type, candidate.tenant
                ):
                    job = self._claim_within_limits(candidate, reservation, keys)
                else:
                    job = self.changer.store.claim(
                        self.options.queue,
                        candidate.id,
                        reservation,
                        self.now,
                        candidate.sort_key,
                        candidate.shard,
                    )
            except StaleJobError as stale:
                self._lost(candidate, stale.current)
                return
            if job is not None:
                self._keep(job, received, reservation)
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with this very job
            self.tries_left += 1
            self.errors.note(candidate.id, problem)

    def _keep(
        self, job: JobRecord, received: ReceivedMessage | None, reservation: Reservation
    ) -> None:
        """Note a claimed job, and the message that it was claimed with."""
        self.seen[job.id] = job
        self.claimed.append(job)
        if received is not None:
            self.held.remove(received)
            self.under[received.handle] = job
            self._align(received, reservation)

    def _claim_within_limits(
        self, candidate: Candidate, reservation: Reservation, keys: list[str]
    ) -> JobRecord | None:
        """Claim a job by a read of job and buckets, and a transaction.

        :returns: the job after the claim; None when a limit lets it wait.
        """
        for _ in range(BUCKET_TRIES):
            job, buckets = self.changer.store.load_with_buckets(candidate.id, keys)
            if job is None or not self._is_claimable(job):
                raise StaleJobError(job)
            takes = self.limiting.take(job, buckets, self.now)
            if isinstance(takes, tuple):
                self.seen[job.id] = self._put_off(job, *takes)
                return None
            held = replace(reservation, slots=tuple(before.key for before, _ in takes))
            try:
                return self.changer.store.claim_within(job, held, takes, self.now)
            except BucketTakenError:
                continue
        self.limiting.pass_by(keys, self.now)
        return None

    def _is_claimable(self, job: JobRecord) -> bool:
        is_over = job.expires_at is not None and job.expires_at <= self.now
        is_ready = job.state is JobState.AVAILABLE and deadlines.last_change(job) <= self.now
        return is_ready and job.queue == self.options.queue and not is_over

    def _put_off(self, job: JobRecord, bucket: Bucket, refusal: LimitRefusal) -> JobRecord:
        """Let a job that may not begin wait, give it up, or schedule it, as its policy says.

        The first one that a bucket refuses makes it say so, for the events.
        """
        if bucket.is_silent(self.now):
            try:
                self.limits().note_exhausted(bucket.key, encode(refusal.render(self.now)), self.now)
            except OjsError:
                _logger.warning(
                    "Could not report that limit %s is exceeded", bucket.key, exc_info=True
                )
        wanted = self.limiting.instead_of_waiting(job)
        if wanted is OnLimit.WAIT:
            return job
        if wanted is OnLimit.DROP:
            after = lifecycle.drop(job, self.now)
        else:
            after = lifecycle.reschedule(job, refusal.until, self.now)
        return self.changer.store.save(job, after)

    def _message_for(self, candidate: Candidate) -> ReceivedMessage | None:
        """Return the job's own message, else that of the last job in its line, else none."""
        of_line: list[ReceivedMessage] = []
        waking = self.woken.get(candidate.id)
        for received in self.held:
            if received.message.job_id == candidate.id or received.handle == waking:
                return received
            is_of_line = received.message.shard == candidate.shard
            if is_of_line and received.handle not in self.woken.values():
                of_line.append(received)
        return max(of_line, key=lambda received: received.message.sort_key, default=None)

    def _reservation(self, candidate: Candidate, received: ReceivedMessage | None) -> Reservation:
        own, fetched = candidate.visibility_timeout_ms, self.options.visibility_timeout_ms
        is_known = own is not None or fetched == self.options.default_visibility_ms
        timeout = candidate.timeout_ms or self.options.timeout_ms
        silence = self.options.silence_ms
        held = Reservation(
            worker_id=self.options.worker_id,
            expires_at=Instant(self.now + (own or fetched)),
            execution_ends_at=Instant(self.now + timeout),
            id=self.options.new_reservation_id(),
            alive_until=None if silence is None else Instant(self.now + silence),
            message_handle=received.handle if received else "",
            message_job_id=received.message.job_id if received else "",
            length_ms=None if is_known else fetched,
        )
        listed = (
            None if self.options.listed_ms is None else Instant(self.now + self.options.listed_ms)
        )
        return held if listed is None or listed >= held.due_at else replace(held, listed_at=listed)

    def _lost(self, candidate: Candidate, current: JobRecord | None) -> None:
        """Note that somebody was faster, the index late, or a message named an earlier sort key.

        The job may still be claimable when its turn comes.
        """
        self.seen[candidate.id] = current
        if current is None:
            return
        try:
            settled = self.changer.settled(current, self.now)
        except NotFoundError:  # it was removed meanwhile
            self.seen[candidate.id] = None
            return
        again = self.note(settled)
        if again is None:
            self.lost += candidate.is_listed
            self.is_overtaken |= candidate.is_listed
            return
        changed = deadlines.last_change(settled)
        if again.sort_key != candidate.sort_key or changed > self.now:
            self.now = max(self.now, changed)
            self.returned.append(again)

    def _align(self, received: ReceivedMessage, reservation: Reservation) -> None:
        """Let the message come back when the reservation ends, if that is another time."""
        seconds = seconds_until(reservation.due_at, self.now)
        if seconds != self.options.message_visibility_s:
            self.job_messages.hide(self.options.queue, [(received.handle, seconds)])
