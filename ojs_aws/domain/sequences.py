"""Decides whose turn it is in a sequence: jobs with one key that run one after another.

A sequence has a head, the job whose turn it is. The jobs behind it are blocked until the head has
ended. The order is that in which the jobs were enqueued, whatever their queue or priority.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.attributes import invalid, wrong_state
from ojs_aws.domain.errors import ConflictError, JsonValue, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, JobState, is_blocked
from ojs_aws.domain.job_policies import OnDiscard, SequencePlace
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.limits import KEY_FORM, is_key
from ojs_aws.domain.timestamps import Instant

CHECK_MS: Final = 3_600_000
"""A new job has a sequence checked whose head has not been looked at for this long."""

DEAD_MS: Final = 3_600_000
"""A batch that is not decided so long after a sequence named it has lost its process."""

_MEMBERS: Final = frozenset({"key", "on_discard"})
_FORM: Final = f"a key of {KEY_FORM}, or an object with such a key"


def read_sequence(value: JsonValue) -> SequencePlace | None:
    """Read the ``sequence`` attribute of a job: a key, or an object with key and ``on_discard``.

    :raises InvalidRequestError: something in it is malformed.
    """
    if value is None:
        return None
    members = value if isinstance(value, dict) else {"key": value}
    if unknown := sorted(members.keys() - _MEMBERS):
        raise invalid(f"sequence.{unknown[0]}", "key or on_discard", unknown[0])
    key, choice = members.get("key"), members.get("on_discard", OnDiscard.STOP)
    if not isinstance(key, str) or not is_key(key):
        raise invalid("sequence", _FORM, value)
    if not isinstance(choice, str) or choice not in set(OnDiscard):
        raise invalid("sequence.on_discard", "one of " + ", ".join(OnDiscard), choice)
    return SequencePlace(key=key, on_discard=OnDiscard(choice))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """Describes a sequence that has a job which has not ended, or on which it is stopped.

    :ivar next: the position of the next job that is enqueued.
    :ivar head: the position of the job whose turn it is, and ``job_id`` its id; empty if it is
        idle, and the next job has the turn.
    :ivar version: counts the changes of the head and of ``batches``; a new job behind a head
        changes ``next`` alone.
    :ivar checked_at: when the head last changed, or was looked at.
    :ivar stopped_at: since when it is stopped on its head, which was discarded; None if it is not.
    :ivar batches: large batches of which jobs may have to be put into it (decision 127).
    :ivar named_at: when the first of them was named; None for none.
    """

    key: str
    tenant: str = ""
    next: int
    head: int
    job_id: str
    version: int
    checked_at: Instant
    stopped_at: Instant | None = None
    batches: tuple[str, ...] = ()
    named_at: Instant | None = None

    def has_dead_batches(self, now: Instant) -> bool:
        """Return whether it has named a batch for longer than a request takes."""
        return self.named_at is not None and now - self.named_at >= DEAD_MS


@dataclass(frozen=True, slots=True)
class BlockedJob:
    """Names a blocked job by its position."""

    position: int
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    """Says what new jobs change in their sequence.

    :ivar before: the sequence as it was read; None where there must be none.
    :ivar blocked: those of the jobs that are blocked.
    """

    before: Sequence | None
    after: Sequence
    blocked: tuple[BlockedJob, ...] = ()


def enqueue(
    jobs: list[JobRecord], before: Sequence | None, now: Instant
) -> tuple[list[JobRecord], Enqueued]:
    """Return new jobs of one sequence at their positions, and what they change in it.

    :param before: the sequence as it was read; None for none: then the first job is its head.
    """
    first = before.next if before is not None else 1
    has_head = before is not None and bool(before.job_id)
    placed = [_placed(job, first + at, at > 0 or has_head) for at, job in enumerate(jobs)]
    is_checked = has_head and before is not None and now - before.checked_at >= CHECK_MS
    if is_checked:
        placed[0] = _with_place(placed[0], checks=True)
    after = before if before is not None and has_head else _begun_by(placed[0], now, before)
    after = replace(after, next=first + len(jobs))
    if is_checked:
        after = replace(after, checked_at=now)
    blocked = tuple(
        BlockedJob(first + at, job.id) for at, job in enumerate(placed) if is_blocked(job)
    )
    return placed, Enqueued(before=before, after=after, blocked=blocked)


def _begun_by(job: JobRecord, now: Instant, before: Sequence | None) -> Sequence:
    """Return a sequence with its first head, or one that was idle with its next one."""
    place = place_of(job)
    return Sequence(
        key=place.key,
        tenant=job.tenant,
        next=place.position + 1,
        head=place.position,
        job_id=job.id,
        version=1 if before is None else before.version + 1,
        checked_at=now,
        batches=() if before is None else before.batches,
        named_at=None if before is None else before.named_at,
    )


def announced(key: str, tenant: str, before: Sequence | None, batch: str, now: Instant) -> Sequence:
    """Return a sequence that names a large batch of which jobs will be put into it.

    :param before: the sequence as it was read; None for none: then it is idle.
    """
    if before is not None:
        named_at = (before.named_at if before.batches else None) or now
        return with_batches(replace(before, named_at=named_at), (*before.batches, batch))
    return Sequence(
        key=key,
        tenant=tenant,
        next=1,
        head=0,
        job_id="",
        version=1,
        checked_at=now,
        batches=(batch,),
        named_at=now,
    )


def with_batches(seen: Sequence, batches: Iterable[str]) -> Sequence:
    """Return a sequence that names these batches."""
    names = tuple(sorted({*batches}))
    named_at = seen.named_at if names else None
    return replace(seen, batches=names, named_at=named_at, version=seen.version + 1)


def actions_of(jobs: Iterable[JobRecord]) -> int:
    """Return how many items a transaction writes for the sequences of jobs at most.

    A row for each job, and one item for each sequence: whatever state the sequences are in.
    """
    sequenced = [job for job in jobs if job.sequence is not None]
    return len(sequenced) + len({(job.tenant, place_of(job).key) for job in sequenced})


def _placed(job: JobRecord, position: int, blocked: bool) -> JobRecord:  # noqa: FBT001
    if not blocked:
        return _with_place(job, position=position)
    if job.state is not JobState.SCHEDULED:
        job = replace(job, state=JobState.PENDING, enqueued_at=None)
    return _with_place(job, position=position, is_blocked=True)


def _with_place(job: JobRecord, **changes: object) -> JobRecord:
    return replace(job, sequence=replace(place_of(job), **changes))  # type: ignore[arg-type]


def place_of(job: JobRecord) -> SequencePlace:
    """Return the place of a job that is part of a sequence."""
    assert job.sequence is not None  # noqa: S101 - what the parameter says
    return job.sequence


def released(job: JobRecord, now: Instant, order: int) -> JobRecord:
    """Return a blocked job as it is when its turn comes: available, or scheduled for later.

    Blocked jobs that are scheduled were stored as pending ones before; they are released, too.
    """
    place = replace(place_of(job), is_blocked=False, checks=False)
    due = job.scheduled_at
    if due is not None and due > now:
        scheduled = JobState.SCHEDULED
        return job.next_version(state=scheduled, enqueued_at=now, order=order, sequence=place)
    available = JobState.AVAILABLE
    return lifecycle.moved(job, available, enqueued_at=now, order=order, sequence=place)


def cancelled(job: JobRecord, now: Instant) -> JobRecord:
    """Return a blocked job as it is when its sequence is cancelled."""
    place = replace(place_of(job), is_blocked=False, checks=False)
    return replace(lifecycle.cancel(job, now), sequence=place)


def is_over(job: JobRecord | None) -> bool:
    """Return whether a job has ended, or is gone."""
    return job is None or job.state.is_terminal


def what_follows(head: JobRecord | None) -> OnDiscard:
    """Return what the end of its head means for a sequence.

    A job that expired or was dropped before its first attempt did nothing: the others go on.
    """
    if head is None or head.sequence is None:
        return OnDiscard.SKIP
    has_failed = head.state is JobState.DISCARDED and head.attempt > 0
    return head.sequence.on_discard if has_failed else OnDiscard.SKIP


def turn_is_over(job: JobRecord) -> ConflictError:
    """Return the error of a discarded job whose sequence has gone on."""
    key = place_of(job).key
    message = f"Cannot retry job: another job of its sequence '{key}' has its turn."
    hint = "Retry it when the sequence is idle, or enqueue the work as a new job."
    return wrong_state("job", job.id, job.state, message, hint)


def too_many(needed: int, most: int) -> PayloadTooLargeError:
    """Return the error of a batch with unique jobs of sequences that is too large."""
    return PayloadTooLargeError(
        f"A batch with unique jobs of sequences is one transaction of at most {most} items; this "
        f"one needs {needed}.",
        details={"field": "sequence", "size": needed, "max_size": most},
        hint=f"Send {most // 4} such jobs at once, or fewer.",
    )
