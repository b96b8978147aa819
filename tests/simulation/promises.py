"""What must be true after each write and after healing (docs/architecture.md: the promises).

Written from the specification and not from the code it judges: the tables here are its own.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

from ojs_aws.domain.events import Event
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.limits import Bucket, queue_key
from ojs_aws.domain.timestamps import Instant
from tests.simulation.turns import EnqueueOrder, is_released, out_of_turn

S = JobState
LIVE: Final = (S.SCHEDULED, S.AVAILABLE, S.PENDING, S.ACTIVE, S.RETRYABLE)

FOLLOWS: Final[Mapping[JobState, frozenset[JobState]]] = {
    S.SCHEDULED: frozenset({S.AVAILABLE, S.CANCELLED, S.DISCARDED}),
    S.AVAILABLE: frozenset({S.ACTIVE, S.CANCELLED, S.DISCARDED, S.SCHEDULED}),
    S.PENDING: frozenset({S.AVAILABLE, S.SCHEDULED, S.CANCELLED, S.DISCARDED}),
    S.ACTIVE: frozenset({S.COMPLETED, S.RETRYABLE, S.DISCARDED, S.CANCELLED, S.AVAILABLE}),
    S.RETRYABLE: frozenset({S.AVAILABLE, S.CANCELLED, S.DISCARDED}),
    S.COMPLETED: frozenset(),
    S.CANCELLED: frozenset(),
    S.DISCARDED: frozenset({S.AVAILABLE}),
}
"""Core specification, section 6.3; from discarded only by an operator.

From available to scheduled by a limit alone (ojs-rate-limiting, section 6.2)."""

OPERATORS: Final = frozenset({"retry", "bulk"})
"""Operations that may make a job available again."""

REMOVERS: Final = frozenset({"delete", "bulk", "purge"})
FETCHERS: Final = frozenset({"fetch", "lambda", "dispatch"})
GIVERS: Final = frozenset({"requeue", "dispatch"})
"""Operations that may give a job back, whose attempt does not count then."""

SAME_STATE: Final = frozenset({"job.heartbeat", "job.progress"})
"""Events that no transition makes."""

CANCELLERS: Final = frozenset(
    {"cancel", "bulk", "purge", "unique", "push", "tick", "alarm", "workflow", "stream"}
)
"""Operations that may cancel: by request, in a unique job's place, and for an overlapping run."""

SPARES: Final = frozenset({"bulk", "purge"})
"""Those that leave active jobs to their workers."""

KIND_OF: Final = {
    S.SCHEDULED: "job.scheduled",
    S.AVAILABLE: "job.enqueued",
    S.ACTIVE: "job.started",
    S.COMPLETED: "job.completed",
    S.RETRYABLE: "job.retrying",
    S.CANCELLED: "job.cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """On whose behalf a write is made.

    :ivar kind: the operation; empty for none.
    :ivar reservations: the reservations that it says it is about, by job id.
    """

    kind: str = ""
    worker: str = ""
    job_id: str = ""
    reservations: Mapping[str, str] = field(default_factory=dict, compare=False)

    def is_of(self, job: JobRecord) -> bool:
        """Return True if it comes from the job's holder, about the reservation that it holds."""
        held = job.reservation
        if held is None or self.worker != held.worker_id:
            return False
        return self.reservations.get(job.id, "") in {"", held.id}


@dataclass
class Promises:
    """Watches the commits and collects what breaks a promise.

    :ivar now: the true time, in milliseconds.
    :ivar tolerance_ms: by how much clocks may differ.
    :ivar is_staged: whether large batches are put into their places one by one.
    :ivar broken: what was wrong.
    :ivar lifted: buckets whose limits do not count any more.
    :ivar beats: heartbeats that each worker has sent; one that promised an interval, one more.
    """

    now: Callable[[], int]
    jobs: Mapping[str, JobRecord]
    cause: Callable[[], Cause]
    tolerance_ms: int = 0
    broken: list[str] = field(default_factory=list)
    promised: set[str] = field(default_factory=set)
    claims: dict[tuple[str, int], str] = field(default_factory=dict)
    given: dict[tuple[str, int], str] = field(default_factory=dict)
    completed_by: dict[str, str] = field(default_factory=dict)
    failed_by: set[tuple[str, str]] = field(default_factory=set)
    held_by: set[tuple[str, str]] = field(default_factory=set)
    given_back_by: set[tuple[str, str]] = field(default_factory=set)
    kinds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    occurrences: dict[tuple[str, str], str] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    batches: dict[str, frozenset[str]] = field(default_factory=dict)
    is_staged: bool = False
    is_held: Callable[[str], bool] = lambda _: False
    is_limited: Callable[[str], bool] = lambda _: False
    deleted: set[str] = field(default_factory=set)
    reborn: set[str] = field(default_factory=set)
    reopened: set[str] = field(default_factory=set)
    retried: set[str] = field(default_factory=set)
    checkpoints: set[tuple[str, object]] = field(default_factory=set)
    starts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    lifted: set[str] = field(default_factory=set)
    beats: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    deliveries: set[str] = field(default_factory=set)
    order: EnqueueOrder = field(init=False)

    def __post_init__(self) -> None:
        """Watch the order of sequences."""
        self.order = EnqueueOrder(self.promised)

    def beating(self, worker: str, *, is_promised: bool) -> None:
        """A worker sends a heartbeat; one that is sent again is one more."""
        self.beats[worker] += 2 if is_promised else 1

    def breach(self, what: str) -> None:
        """Something is not as it was promised."""
        self.broken.append(what)

    # ------------------------------------------------------------------ each commit
    def job_written(self, job_id: str, before: JobRecord | None, after: JobRecord | None) -> None:
        """One commit of one job."""
        problems = self._wrong(before, after)
        for problem in problems:
            self.breach(f"job {job_id[-4:]}: {problem}; by {self.cause()}")
        if after is not None:
            self._note_commit(before, after)
            self.touched.add(job_id)
        else:
            self.deleted.add(job_id)
            self.promised.discard(job_id)
            for key in [key for key in self.given if key[0] == job_id]:
                del self.given[key]  # a client may push it again, and it starts over

    def bucket_written(self, before: Bucket | None, after: Bucket) -> None:
        """One commit of what counts the slots of a limit; a limit that an operator has set."""
        if not after.override or after.active <= (before.active if before else 0):
            return
        most = json.loads(after.override).get("concurrency")
        if most is not None and after.active > most:
            self.breach(f"{after.active} jobs run under {after.key}, of {most}; by {self.cause()}")

    def _wrong(self, before: JobRecord | None, after: JobRecord | None) -> Iterator[str]:
        if after is None:
            if before is None or before.state in LIVE or self.cause().kind not in REMOVERS:
                yield "removed"
        elif before is None:
            if after.version != 1 or after.attempt or after.reservation:
                yield "is not new when it is stored"
            if after.state not in {S.SCHEDULED, S.AVAILABLE, S.PENDING}:
                yield f"is stored as {after.state}"
            for other in self.order.overtaken_by(after.id):
                yield f"overtakes {other[-4:]} of its sequence, which was answered for"
        else:
            yield from self._wrong_change(before, after)
        if after is not None:
            yield from self._wrong_state(after)

    def _wrong_state(self, job: JobRecord) -> Iterator[str]:
        held = job.reservation
        if held is not None and held.listed_at is not None and held.listed_at >= held.due_at:
            yield f"listed at {held.listed_at}, and due at {held.due_at}"
        if (job.reservation is not None) != (job.state is S.ACTIVE):
            yield f"{job.state} with reservation {job.reservation}"
        counted = job.attempt - job.uncounted_attempts
        if counted > max(job.retry.max_attempts, 1):
            yield f"{counted} attempts, and the policy allows {job.retry.max_attempts}"
        if entered(job) is None:
            yield f"{job.state} without the time of it"

    def _wrong_change(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        if after.version != before.version + 1:
            yield f"version {after.version} after {before.version}"
        for name in ("id", "type", "queue", "created_at", "retry", "timeout_ms", "unique_key"):
            if getattr(before, name) != getattr(after, name) and self.cause().kind not in OPERATORS:
                yield f"{name} changed"
        if before.state is after.state:
            yield from self._wrong_stay(before, after)
            return
        if after.state not in FOLLOWS[before.state]:
            yield f"{before.state} became {after.state}"
            return
        began, ended = entered(before), entered(after)
        if began is not None and ended is not None and ended < began:
            yield f"{after.state} at {ended}, which is {began - ended} ms before {before.state}"
        wanted = before.attempt + (after.state is S.ACTIVE)
        if before.state is not S.DISCARDED and after.attempt != wanted:
            yield f"attempt {after.attempt} after {before.attempt}"
        yield from self._wrong_count(before, after)
        yield from self._wrong_cause(before, after)

    def _wrong_count(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        """Attempts that do not count although nobody gave them back, or the other way round."""
        wanted = before.uncounted_attempts + self._is_given_back(before, after)
        if before.state is S.DISCARDED:
            wanted = 0
        if after.uncounted_attempts != wanted:
            yield f"{after.uncounted_attempts} attempts are not counted, and not {wanted}"

    def _is_given_back(self, before: JobRecord, after: JobRecord) -> bool:
        """Whether a job's holder has given it back, before time has ended the attempt."""
        cause, held = self.cause(), before.reservation
        if cause.kind not in GIVERS or before.state is not S.ACTIVE or held is None:
            return False
        is_written = {
            S.AVAILABLE: after.enqueued_at != held.due_at,
            S.RETRYABLE: after.failures != () and after.failures[-1].occurred_at != held.due_at,
        }
        return is_written.get(after.state, False) and cause.is_of(before)

    def _wrong_stay(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        held, kept = before.reservation, after.reservation
        if before.state is S.ACTIVE and held is not None and kept is not None:
            cause = self.cause()
            is_row_moved = kept == replace(held, listed_at=None) != held
            if not cause.is_of(before) and not is_row_moved:
                who = cause.worker or "nobody"
                yield f"{who} extended {held.id}, the reservation of {held.worker_id}"
            if kept.expires_at < held.expires_at or kept.worker_id != held.worker_id:
                yield "a heartbeat shortened the reservation, or gave it to another"
            if kept.due_at < held.due_at and self.beats[cause.worker] < 2:
                yield "due earlier by a heartbeat of a worker whose pace nobody knows"
        elif before.priority != after.priority:
            if self.cause().kind != "reprioritise":
                yield "given another priority"
        elif before.state is not S.SCHEDULED:
            yield f"written, and still {after.state}"

    def _wrong_cause(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        """A change that neither who makes it nor time may bring."""
        cause = self.cause()
        if before.state is S.ACTIVE:
            yield from self._wrong_end(before, after)
        elif after.state is S.ACTIVE:
            yield from self._wrong_start(after)
        elif after.state is S.SCHEDULED:
            if not is_released(before, after) and not self._is_put_off(before, "reschedule"):
                yield "scheduled again"
        elif after.state is S.DISCARDED:
            is_dropped = self._is_put_off(before, "drop")
            if not self._is_due(before.expires_at) and not is_dropped:
                yield "discarded before it expired"
        elif after.state is S.AVAILABLE:
            allowed = {
                S.SCHEDULED: self._is_due(before.scheduled_at),
                S.RETRYABLE: self._is_due(before.next_attempt_at) or cause.kind == "bulk",
                S.PENDING: is_released(before, after)
                or cause.kind in {"activate", "tick", "alarm", "cron"},
                S.DISCARDED: cause.kind in OPERATORS
                or (cause.kind == "tick" and after.replay is not None),
            }
            if not allowed[before.state]:
                yield f"{before.state} became available before its time, or without an order"

    def _wrong_start(self, job: JobRecord) -> Iterator[str]:
        if job.expires_at is not None and job.expires_at <= (job.started_at or 0):
            yield "started after it expired"
        if self.is_held(job.queue):
            yield f"started, and queue {job.queue} is paused"
        slots = job.reservation.slots if job.reservation else ()
        if self.is_limited(job.queue) and queue_key(job.queue) not in slots:
            yield f"started without a slot, and queue {job.queue} has a limit"
        yield from self._wrong_pace(job)

    def _is_put_off(self, job: JobRecord, how: str) -> bool:
        """Whether a limit may have put a job off, as its own policy wants it."""
        wanted = "" if job.limit is None else str(job.limit.on_limit)
        return wanted == how and self.cause().kind in FETCHERS

    def _wrong_pace(self, job: JobRecord) -> Iterator[str]:
        """A start that a rate or a throttle does not allow; each key has one policy."""
        limit, now = job.limit, job.started_at or 0
        if limit is None or (limit.rate is None and limit.throttle is None):
            return
        if limit.key in self.lifted:
            return
        starts = self.starts[limit.key]
        if limit.throttle is not None and starts:
            spacing_ms = limit.throttle.period_ms // limit.throttle.limit
            if now < starts[-1] + spacing_ms:
                yield f"started {now - starts[-1]} ms after another one"
        if limit.rate is not None and len(starts) >= (most := 2 * limit.rate.limit):
            span = now - starts[-most]  # windows are fixed: twice the limit may meet at an end
            if span < limit.rate.period_ms - 2 * self.tolerance_ms:
                yield f"the {most + 1}th start within {span} ms"

    def _wrong_end(self, before: JobRecord, after: JobRecord) -> Iterator[str]:
        """The end of an attempt: by its holder, by who cancels, or by time."""
        cause, held = self.cause(), before.reservation
        holder = held.worker_id if held else ""
        is_due = self._is_due(held.due_at if held else None)
        is_report = cause.kind == "fail" and cause.is_of(before)
        is_given_back = self._is_given_back(before, after)
        if after.state is S.COMPLETED:
            if cause.kind != "ack" or not cause.is_of(before):
                yield f"completed, held by {holder}"
            elif held is not None and held.due_at <= (after.completed_at or 0):
                yield "completed after its reservation was over"
        elif after.state is S.CANCELLED:
            is_overlapping = cause.kind == "cron" and before.type == "cron.job"
            if not is_overlapping and cause.kind not in CANCELLERS - SPARES:
                yield "cancelled"  # who deletes a cron job settles its claim, and that may cancel
        elif not is_due and not is_report and not is_given_back:
            yield f"taken from {holder} before its time was over"
        elif not is_due and after.state is S.AVAILABLE and not is_given_back:
            yield "available at once after a failure"

    def _is_due(self, due: Instant | None) -> bool:
        return due is not None and due <= self.now() + self.tolerance_ms

    def _note_commit(self, before: JobRecord | None, after: JobRecord) -> None:
        """Note what follows from a commit."""
        if before is None:
            self._note_occurrence(after)
            if after.id in self.deleted:
                self.reborn.add(after.id)
        if after.checkpoint is not None:
            self.checkpoints.add((after.id, after.checkpoint.state))
        if before is not None and before.state is after.state:
            return
        self._note_change(before, after)
        kinds = self.kinds[after.id]
        was_active = before is not None and before.state is S.ACTIVE
        is_counted = before is None or after.uncounted_attempts <= before.uncounted_attempts
        if before and was_active and is_counted and after.failures != before.failures:
            kinds.append("job.failed")
        if after.state is S.DISCARDED:
            is_dropped = before is not None and not was_active and self._is_dropped(before, after)
            kinds.append("job.discarded" if was_active or is_dropped else "job.expired")
        elif after.state is not S.PENDING:
            kinds.append(KIND_OF[after.state])

    def _note_change(self, before: JobRecord | None, after: JobRecord) -> None:
        """Note who brought a job into its state."""
        cause, held, was = self.cause(), after.reservation, before.state if before else None
        if after.state is S.ACTIVE and held is not None:
            self.claims[after.id, after.version] = held.worker_id
            self.held_by.add((after.id, held.worker_id))
            if after.limit is not None:
                self.starts[after.limit.key].append(after.started_at or 0)
        if was is S.DISCARDED:
            self.reopened.add(after.id)
        if cause.kind == "bulk" and after.state is S.AVAILABLE:
            self.retried.add(after.id)
        if was is S.ACTIVE and after.state is S.COMPLETED:
            self.completed_by[after.id] = cause.worker
        elif was is S.ACTIVE and cause.kind == "fail":
            self.failed_by.add((after.id, cause.worker))
        elif was is S.ACTIVE and cause.kind in GIVERS:
            self.given_back_by.add((after.id, cause.worker))

    def _is_dropped(self, before: JobRecord, after: JobRecord) -> bool:
        expired = before.expires_at is not None and before.expires_at <= (after.discarded_at or 0)
        return self._is_put_off(before, "drop") and not expired

    def _note_occurrence(self, job: JobRecord) -> None:
        meta = meta_of(job)
        name, due = meta.get("cron_name"), meta.get("cron_scheduled_at")
        if not isinstance(name, str) or not isinstance(due, str):
            return
        other = self.occurrences.setdefault((name, due), job.id)
        if other != job.id:
            self.breach(f"cron job {name}: {due} was enqueued twice, {other[-4:]} {job.id[-4:]}")

    def cron_removed(self, name: str) -> None:
        """One that is registered under its name again is another one."""
        for key in [key for key in self.occurrences if key[0] == name]:
            del self.occurrences[key]

    # ------------------------------------------------------------------ after each call
    def after_call(self) -> None:
        """What must be true between any two calls, of the jobs that the call wrote."""
        for job_id in self.touched:
            batch = self.batches.get(job_id, frozenset())
            is_whole = all(each in self.jobs or each in self.deleted for each in batch)
            if not self.is_staged and not is_whole:
                self.breach(f"a batch of {len(batch)} jobs is stored in part")
            job = self.jobs.get(job_id)
            for problem in () if job is None else out_of_turn(job, self.jobs.values()):
                self.breach(f"job {job_id[-4:]} {problem}; by {self.cause()}")
            if job is not None and job.unique_key and job.state in LIVE:
                # One that was deleted before its batch was finished comes back without its lock.
                others = [
                    each
                    for each in self.jobs.values()
                    if each.unique_key == job.unique_key
                    and each.id != job.id
                    and not {each.id, job.id} & self.reborn
                ]
                for other in others:
                    if other.state in LIVE and not self._may_end(other):
                        self.breach(
                            f"jobs {job.id[-4:]} and {other.id[-4:]} have one uniqueness key"
                        )
        self.touched.clear()

    def _may_end(self, job: JobRecord) -> bool:
        """Whether time has ended a job, and nobody has written that down yet."""
        if job.state is S.ACTIVE and job.reservation is not None:
            is_last = job.attempt - job.uncounted_attempts >= max(job.retry.max_attempts, 1)
            return is_last and self._is_due(job.reservation.due_at)
        return self._is_due(job.expires_at)

    # ------------------------------------------------------------------ what users were answered
    def fetched(self, job: JobRecord, worker: str) -> None:
        """FETCH gave a job to a worker."""
        key = job.id, job.version
        if self.claims.get(key) != worker:
            self.breach(
                f"{worker} was given job {job.id[-4:]}, which {self.claims.get(key)} claimed"
            )
        if self.given.setdefault(key, worker) != worker:
            self.breach(f"job {job.id[-4:]} was given to {worker} and to {self.given[key]}")

    def delivered(self, job_id: str, worker: str, delivery_id: str) -> None:
        """A function got a job from a dispatcher."""
        if (job_id, worker) not in self.held_by:
            self.breach(f"job {job_id[-4:]} came from {worker}, who had not claimed it")
        if delivery_id in self.deliveries:
            self.breach(f"{delivery_id} of job {job_id[-4:]} came twice")
        self.deliveries.add(delivery_id)

    def saved(self, job_id: str, state: object) -> None:
        """A checkpoint was accepted."""
        if (job_id, state) not in self.checkpoints:
            self.breach(f"a checkpoint of job {job_id[-4:]} was accepted, and is not kept")

    def changed(self, action: str, job_ids: Sequence[str]) -> None:
        """A bulk operation said that it has changed these jobs."""
        for job_id in job_ids:
            job = self.jobs.get(job_id)
            is_gone = job is None or job_id in self.reborn
            is_done = {
                "cancel": is_gone or (job is not None and job.state is S.CANCELLED),
                "delete": is_gone,
                "retry": is_gone or job_id in self.retried,
            }
            if not is_done[str(action)]:
                self.breach(f"bulk {action} of job {job_id[-4:]} was accepted, and did nothing")

    def acknowledged(self, job_id: str, worker: str) -> None:
        """ACK was accepted."""
        if self.completed_by.get(job_id) != worker:
            self.breach(f"the ACK of {worker} for job {job_id[-4:]} was accepted and did nothing")

    def failed(self, job_id: str, worker: str) -> None:
        """FAIL was accepted."""
        if (job_id, worker) not in self.failed_by:
            self.breach(f"the FAIL of {worker} for job {job_id[-4:]} was accepted and did nothing")

    def given_back(self, job_id: str, worker: str) -> None:
        """NACK with requeue was accepted."""
        if (job_id, worker) not in self.given_back_by:
            self.breach(f"{worker} gave job {job_id[-4:]} back, and that did nothing")

    def extended(self, job_id: str, worker: str) -> None:
        """BEAT was accepted for a job."""
        if (job_id, worker) not in self.held_by:
            self.breach(f"{worker} extended job {job_id[-4:]}, which it never held")

    # ------------------------------------------------------------------ after healing
    def check_events(self, where: str, events: Sequence[Event]) -> None:
        """Each transition has its events, in order for each job; repeats have the same id."""
        published: dict[str, list[str]] = defaultdict(list)
        ids: dict[str, list[str]] = defaultdict(list)
        seen: dict[str, Event] = {}
        for event in events:
            if event.id in seen:
                if seen[event.id] != event:
                    self.breach(f"{where}: two events have the id {event.id}")
                continue
            seen[event.id] = event
            if event.type.startswith("job.") and event.type not in SAME_STATE:
                published[event.subject].append(event.type)
                ids[event.subject].append(event.id)
        for job_id, kinds in self.kinds.items():
            if published[job_id] != kinds and job_id not in self.reborn:
                self.breach(
                    f"{where}: job {job_id[-4:]} went through {kinds}, "
                    f"but published {published[job_id]} ({', '.join(ids[job_id])})"
                )

    def check_ended(self) -> None:
        """Every job that was promised is there, and every job has ended."""
        for job_id in sorted(self.promised - set(self.jobs)):
            self.breach(f"job {job_id[-4:]} was answered for, and is lost")
        for batch in {*self.batches.values()}:
            if len({each in self.jobs or each in self.deleted for each in batch}) > 1:
                self.breach(f"a batch of {len(batch)} jobs is stored in part for ever")
        for job in self.jobs.values():
            if job.state in LIVE:
                self.breach(f"job {job.id[-4:]} is {job.state} for ever: {_short(job)}")


def _short(job: JobRecord) -> str:
    """What a job has beside its id, without what it was never given."""
    kept = {field.name: getattr(job, field.name) for field in fields(job)}
    unset = (None, "", (), False)
    return ", ".join(f"{name}={value}" for name, value in kept.items() if value not in unset)


def entered(job: JobRecord) -> Instant | None:
    """When a job came into its state."""
    failed = job.failures[-1].occurred_at if job.failures else None
    return {
        S.SCHEDULED: job.enqueued_at or job.created_at,
        S.PENDING: job.created_at,
        S.AVAILABLE: job.enqueued_at,
        S.ACTIVE: job.started_at,
        S.COMPLETED: job.completed_at,
        S.CANCELLED: job.cancelled_at,
        S.DISCARDED: job.discarded_at,
        S.RETRYABLE: failed,
    }[job.state]


def meta_of(job: JobRecord) -> Mapping[str, object]:
    """A job's metadata."""
    if not isinstance(job.document, str) or '"cron_name"' not in job.document:
        return {}
    found = json.loads(job.document).get("meta")
    return found if isinstance(found, dict) else {}
