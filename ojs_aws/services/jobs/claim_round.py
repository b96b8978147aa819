"""One queue's round of a FETCH: from messages and the head of the queue to claimed jobs.

A message is a permission to run one job of its queue, and a hint which. The head of the ready list
says which job is first. A job is claimed by one conditional write that also stores the message in
hand, whatever job that message names; the number of messages and of runnable jobs stays equal.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import JobRecord, JobState, Reservation, ready_since
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.limits.rules import Bucket, OnLimit, Refusal
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import (
    BucketTakenError,
    Head,
    JobList,
    JobStore,
    Limits,
    ReceivedMessage,
    StaleJobError,
)
from ojs_aws.services.jobs.candidates import (
    Candidate,
    QueueSnapshot,
    named_by,
    ready_job,
    shown,
)
from ojs_aws.services.jobs.change import JobChanger
from ojs_aws.services.jobs.messages import JobMessages, seconds_until
from ojs_aws.services.jobs.unused_messages import UnusedMessages
from ojs_aws.services.limits.check import LimitCheck
from ojs_aws.services.upkeep.job_errors import JobErrors

MAX_CLAIMED_BYTES: Final = 3_000_000
"""Documents that one round claims at most, and one more: Lambda answers with 6 MB at most."""

SPARE_TRIES: Final = 8
"""Claims that may be lost to other fetchers before the round gives up."""

FURTHER_TRIES: Final = 2
"""The same after a further look, at least."""

MAX_LOOKS: Final = 4
"""How often a round looks who is first in line while others are faster with all that it sees."""

PAGE_BEYOND: Final = 100
MAX_PAGES_BEYOND: Final = 3
"""How far is looked behind jobs that limits keep waiting."""

PATIENCE_MS: Final = 5_000
"""How long after its beginning a round goes on behind a job that cannot be written. Calls that
time out take longer, and then others would, too."""

BUCKET_TRIES: Final = 3
"""Tries to take a place that others take at the same time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOptions:
    """On what terms jobs are claimed.

    :ivar visibility_timeout_ms: reservation length where the job has none of its own.
    :ivar silence_ms: how long the worker may be silent before it counts as dead; None where it
        does not say how often it beats.
    :ivar timeout_ms: execution timeout where the index does not name one.
    :ivar message_visibility_s: visibility timeout that the messages in hand were received with.
    :ivar new_reservation_id: makes an id that no other claim of the job has.
    """

    queue: str
    worker_id: str
    visibility_timeout_ms: int
    timeout_ms: int
    message_visibility_s: int
    new_reservation_id: Callable[[], str]
    silence_ms: int | None = None


@dataclass(slots=True)
class ClaimRound:
    """The working state of one round; it lives for one request and one queue.

    :ivar hands: messages in hand that no job was claimed with yet.
    :ivar under: the claimed jobs by the handles of their messages.
    :ivar lost: claims of listed jobs that others were faster with: fetches overlap.
    :ivar is_overtaken: others took what this round saw in line, or it ended before the line did:
        there may be jobs that only the messages in hand can bring to a worker.
    :ivar began: when it began; what it saw of the queue is about as old.
    :ivar errors: of jobs that it passed over.
    :ivar stamp: tells this round from others that overlap it.
    :ivar returned: candidates that have another place in line than it seemed.
    :ivar seen: what the jobs that were looked at were found to be.
    """

    store: JobStore
    changer: JobChanger
    job_messages: JobMessages
    terms: ClaimOptions
    now: Instant
    hands: list[ReceivedMessage]
    limiting: LimitCheck
    limits: Callable[[], Limits]
    claimed: list[JobRecord] = field(default_factory=list)
    under: dict[str, JobRecord] = field(default_factory=dict)
    seen: dict[str, JobRecord | None] = field(default_factory=dict)
    tries_left: int = SPARE_TRIES
    lost: int = 0
    is_overtaken: bool = False
    began: Instant = field(init=False)
    errors: JobErrors = field(init=False)
    stamp: str = ""
    returned: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Note when it begins."""
        self.began = self.now
        self.errors = JobErrors(lambda: self.changer.clock.now() > self.began + PATIENCE_MS)

    def run(
        self, first: QueueSnapshot, need: int, again: Callable[[int], QueueSnapshot]
    ) -> list[JobRecord]:
        """Claim up to ``need`` jobs in fetch order: ready ones, and those that time made due.

        :param first: who was first in line just now.
        :param again: looks again, so that there is room for so many jobs; for when others were
            faster with all that were seen.

        A job that cannot be read or written is passed over. An error that comes after the first
        claim ends the round at most: the jobs that were claimed must reach the worker.

        :raises Exception: the first error, where no job was claimed.
        """
        self.tries_left += 2 * need
        head = first.head
        self.limiting.is_whole = bool(head.limit)
        try:
            self._claim_line(first, need, again)
            if len(self.claimed) < need and self.limiting.has_passed_by:
                self._claim_all(self._beyond(head), need)
            if len(self.claimed) < need:
                self._claim_all(self._swapped(), need)
        except Exception:
            if not self.claimed:
                raise
            self.is_overtaken = True
            _log.warning("A fetch ended after %d claims", len(self.claimed), exc_info=True)
        if not self.claimed and self.errors.first is not None:
            raise self.errors.first
        return self.claimed

    # ------------------------------------------------------------------ who is in line
    def _claim_line(
        self, look: QueueSnapshot, need: int, again: Callable[[int], QueueSnapshot]
    ) -> None:
        """Claim the first in line.

        Once a claim was lost, fetches overlap. Going on in order, all would lose to one another,
        job by job. So each takes another one of the same priority: its own message's, or any.
        """
        line = {each.id: each for each in self._in_line(look)}
        looks_left = MAX_LOOKS - 1
        while len(self.claimed) < need and not self._is_full():
            line |= self._come_back()
            best = min(line.values(), key=self._turn, default=None)
            if self.lost and looks_left and (self.tries_left <= 0 or look.may_hide(best)):
                looks_left -= 1
                missing = need - len(self.claimed)
                look = again(missing + self.lost)
                self.tries_left = max(self.tries_left, missing + FURTHER_TRIES)
                fresh = [each for each in look.shown() if each.id not in self.seen]
                left = [each for each in line.values() if not each.is_listed]
                line = {each.id: each for each in (*left, *fresh)}
                continue
            if best is None or self.tries_left <= 0:
                return
            del line[best.id]
            if best.waits:
                due = {each.id: each for each in self._settled([best.id])}
                self.is_overtaken |= not due
                line |= due
            else:
                self._claim(best)

    def _turn(self, candidate: Candidate) -> tuple[str, bool, str]:
        """When a candidate's turn comes: by its place, or after a lost claim by priority alone."""
        if not self.lost:
            return candidate.sort_key, False, ""
        is_own = any(hand.message.job_id == candidate.id for hand in self.hands)
        if not self.stamp:
            self.stamp = f"{self.terms.worker_id}/{self.changer.clock.order()}/"
        scattered = hashlib.blake2s((self.stamp + candidate.id).encode(), digest_size=8)
        return candidate.rank, not is_own, scattered.hexdigest()

    def _come_back(self) -> dict[str, Candidate]:
        """Candidates that turned out to have another place, or to be available after all."""
        back = {each.id: each for each in self.returned}
        self.returned.clear()
        return back

    def _in_line(self, look: QueueSnapshot) -> list[Candidate]:
        """The head of the queue, the jobs of messages in hand and those due, in fetch order."""
        line = {each.id: each for each in look.shown()}
        waited: list[str] = []
        for received in self.hands:
            message = received.message
            shown = line.get(message.job_id)
            if shown is not None and not shown.waits:
                continue
            is_known = bool(message.sort_key) and not self.limiting.types
            if shown is None and is_known and received.receive_count == 1:
                line[message.job_id] = named_by(message)
            else:
                waited.append(message.job_id)
        waited += [row.id for row in look.due.jobs if row.priority is None and row.id not in waited]
        line |= {candidate.id: candidate for candidate in self._settled(waited)}
        return sorted(line.values(), key=lambda candidate: candidate.sort_key)

    def _settled(self, job_ids: Sequence[str]) -> Iterator[Candidate]:
        """Those of the jobs that are available once time had its due; read in one call.

        For jobs that had to wait, or whose message came back.
        """
        for job_id, job in self.changer.settle_each(job_ids, self.now, self.errors.note):
            if job is None:
                self.seen[job_id] = None
                continue
            candidate = self._noted(job)
            if candidate is not None:
                yield candidate

    def _noted(self, job: JobRecord) -> Candidate | None:
        """Remember what a job was found to be; a candidate if it can be claimed."""
        self.seen[job.id] = job
        if job.state is not JobState.AVAILABLE or job.queue != self.terms.queue:
            return None
        return ready_job(job)

    def _beyond(self, head: Head) -> Iterator[Candidate]:
        """Jobs behind a head that limits keep waiting, as far as is looked (RL-004)."""
        cursor = self.store.place_of(head.jobs[-1], JobList.READY) if head.jobs else ""
        for _ in range(MAX_PAGES_BEYOND):
            if not cursor or self.limiting.refuses_all:
                return
            page = self.store.listed(
                self.terms.queue, JobList.READY, PAGE_BEYOND, cursor=cursor, newest_first=False
            )
            yield from (shown(row) for row in page.jobs if row.id not in self.seen)
            cursor = page.cursor

    def _swapped(self) -> Iterable[Candidate]:
        """Jobs whose message another fetcher used for the job that our message names.

        The index may not show such a job yet, so it is found by way of the reservation.
        """
        for received in list(self.hands):
            job = self.seen.get(received.message.job_id)
            held = job.reservation if job else None
            if held and held.message_job_id not in {"", received.message.job_id, *self.seen}:
                yield from self._settled([held.message_job_id])

    # ------------------------------------------------------------------ claiming
    def _claim_all(self, candidates: Iterable[Candidate], need: int) -> None:
        for candidate in candidates:
            if self._is_done(need):
                return
            self._claim(candidate)
            for returned in self._come_back().values():
                self._claim(returned)

    def _is_done(self, need: int) -> bool:
        return len(self.claimed) >= need or self.tries_left <= 0 or self._is_full()

    def _is_full(self) -> bool:
        return sum(job.document_bytes for job in self.claimed) >= MAX_CLAIMED_BYTES

    def _claim(self, candidate: Candidate) -> None:
        """Claim a job if it may begin; one whose write fails does not stop those behind it."""
        if self.limiting.refuses(candidate.limit_key, candidate.type):
            return
        try:
            self._try(candidate)
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with this very job
            self.tries_left += 1
            self.errors.note(candidate.id, problem)

    def _try(self, candidate: Candidate) -> None:
        self.tries_left -= 1
        # What happened to the job since the round began must not come after its start, and nor must
        # what a process did whose clock is ahead.
        self.now = max(self.now, self.changer.clock.now(), ready_since(candidate.sort_key))
        hand = self._hand_for(candidate.id)
        reservation = self._reservation(candidate, hand)
        try:
            job = self._claimed_by(candidate, reservation)
        except StaleJobError as stale:
            self._lost(candidate, stale.current)
            return
        if job is None:
            return
        self.seen[job.id] = job
        self.claimed.append(job)
        if hand is not None:
            self.hands.remove(hand)
            self.under[hand.handle] = job
            self._align(hand, reservation)

    def _claimed_by(self, candidate: Candidate, reservation: Reservation) -> JobRecord | None:
        """The job after the claim; None when a limit lets it wait.

        Without a limit one update; with one a read of job and buckets, and a transaction.
        """
        keys = self.limiting.keys_of(candidate.limit_key, candidate.type)
        if not keys:
            queue, place = self.terms.queue, candidate.sort_key
            return self.store.claim(queue, candidate.id, reservation, self.now, place)
        for _ in range(BUCKET_TRIES):
            job, buckets = self.store.load_with_buckets(candidate.id, keys)
            if job is None or not self._is_claimable(job):
                raise StaleJobError(job)
            takes = self.limiting.take(job, buckets, self.now)
            if isinstance(takes, tuple):
                self.seen[job.id] = self._put_off(job, *takes)
                return None
            held = replace(reservation, places=tuple(before.key for before, _ in takes))
            try:
                return self.store.claim_within(job, held, takes, self.now)
            except BucketTakenError:
                continue
        self.limiting.pass_by(keys, self.now)
        return None

    def _is_claimable(self, job: JobRecord) -> bool:
        is_over = job.expires_at is not None and job.expires_at <= self.now
        is_ready = job.state is JobState.AVAILABLE and lifecycle.last_change(job) <= self.now
        return is_ready and job.queue == self.terms.queue and not is_over

    def _put_off(self, job: JobRecord, bucket: Bucket, refusal: Refusal) -> JobRecord:
        """A job that may not begin: left where it is, given up, or scheduled, as its policy says.

        The first one that a bucket refuses makes it say so, for the events.
        """
        if bucket.is_silent(self.now):
            try:
                self.limits().tell(bucket.key, encode(refusal.render(self.now)), self.now)
            except OjsError:
                _log.warning("Could not tell that limit %s is exceeded", bucket.key, exc_info=True)
        wanted = self.limiting.instead_of_waiting(job)
        if wanted is OnLimit.WAIT:
            return job
        if wanted is OnLimit.DROP:
            after = lifecycle.drop(job, self.now)
        else:
            after = lifecycle.reschedule(job, refusal.until, self.now)
        self.store.save(job, after)
        return after

    def _hand_for(self, job_id: str) -> ReceivedMessage | None:
        """The job's own message, else the one whose job is last in line, else none."""
        for received in self.hands:
            if received.message.job_id == job_id:
                return received
        return max(self.hands, key=lambda hand: hand.message.sort_key, default=None)

    def _reservation(self, candidate: Candidate, hand: ReceivedMessage | None) -> Reservation:
        visibility = candidate.visibility_timeout_ms or self.terms.visibility_timeout_ms
        timeout = candidate.timeout_ms or self.terms.timeout_ms
        silence = self.terms.silence_ms
        return Reservation(
            worker_id=self.terms.worker_id,
            expires_at=Instant(self.now + visibility),
            execution_ends_at=Instant(self.now + timeout),
            id=self.terms.new_reservation_id(),
            alive_until=None if silence is None else Instant(self.now + silence),
            message_handle=hand.handle if hand else "",
            message_job_id=hand.message.job_id if hand else "",
        )

    def _lost(self, candidate: Candidate, current: JobRecord | None) -> None:
        """Somebody was faster, the index was late, or the message named an earlier place.

        The job may be claimable all the same, when its turn comes.
        """
        self.seen[candidate.id] = current
        if current is None:
            return
        settled = self.changer.settled(current, self.now)
        again = self._noted(settled)
        if again is None:
            self.lost += candidate.is_listed
            self.is_overtaken |= candidate.is_listed
            return
        changed = lifecycle.last_change(settled)
        has_moved = settled is not current or again.sort_key != candidate.sort_key
        if has_moved or changed > self.now:
            self.now = max(self.now, changed)
            self.returned.append(again)

    def _align(self, hand: ReceivedMessage, reservation: Reservation) -> None:
        """Let the message come back when the reservation ends, if that is another time."""
        seconds = seconds_until(reservation.due_at, self.now)
        if seconds != self.terms.message_visibility_s:
            self.job_messages.hide(self.terms.queue, [(hand.handle, seconds)])

    # ------------------------------------------------------------------ messages left over
    def release(self) -> frozenset[str]:
        """Give back the messages that found nothing to run.

        :returns: handles of those that were kept (made visible later) rather than deleted.
        """
        hands, self.hands = self.hands, []
        is_complete = not (self.is_overtaken or self.tries_left <= 0 or self._is_full())
        left = UnusedMessages(
            self.terms.queue,
            self.job_messages,
            self.limiting,
            self.seen,
            self.now,
            began=self.began,
            is_complete=is_complete,
            failed=self.errors.ids,
        )
        return left.give_back(hands)
