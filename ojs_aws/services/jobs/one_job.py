"""Implements INFO, ACTIVATE, CANCEL and the change of priority; derives a job's history.

The item keeps the instants of its latest attempt and the failures of all; what else happened is in
the event log for as long as that goes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.credentials import Actor, by_hand
from ojs_aws.domain.job import Failure, JobRecord
from ojs_aws.domain.jobs import deadlines, lifecycle
from ojs_aws.domain.jobs.outcomes import as_of
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.stored_jobs.change import JobChange, JobChanger, found
from ojs_aws.services.stored_jobs.messages import JobMessages

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore


@dataclass(frozen=True, slots=True)
class Info:
    """Reads a job with all its documents: one call, unless a transition is due."""

    store: JobStore
    changer: JobChanger

    def __call__(self, job_id: str) -> JobRecord:
        """Return the job as of now, with due transitions made and expired results left out.

        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        """
        whole = self.store.load_whole(check_job_id(job_id))
        job = whole or self.store.fill(found(self.changer.missing([job_id]).get(job_id), job_id))
        now = self.changer.clock.now()
        if deadlines.settle_once(job, now) is not None:
            job = self.store.fill(self.changer.settled(job, now))
        return as_of(job, now)


@dataclass(frozen=True, slots=True)
class JobChanges:
    """Changes one job at the request of a client or an operator; each method is one operation."""

    changer: JobChanger
    job_messages: JobMessages

    def activate(self, job_id: str) -> JobChange:
        """Make a pending job available and send its message.

        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not pending.
        """
        clock = self.changer.clock
        change = self.changer.apply(
            check_job_id(job_id), lambda job, now: lifecycle.activate(job, now, clock.order())
        )
        self.job_messages.send_for([change.after], clock.now())
        return change

    def cancel(self, job_id: str, by: Actor | None = None) -> JobChange:
        """Cancel a job and delete the message of its reservation.

        The worker of an active job learns it with its next heartbeat.

        :param by: who does it.
        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is in a terminal state; nothing changes.
        """
        change = self.changer.apply(
            check_job_id(job_id), lambda job, now: by_hand(lifecycle.cancel(job, now), by)
        )
        self.job_messages.end_reservation(change.before, self.changer.clock.now())
        return change

    def reprioritise(self, job_id: str, priority: int, by: Actor | None = None) -> JobChange:
        """Change a job's priority by one conditional write; no message is needed.

        The message that names its old place in the ready list finds the job by its id: a claim
        looks again.

        :param priority: -100 to 100; the higher is served first.
        :param by: who does it.
        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is neither available, scheduled nor pending.
        """

        def decide(job: JobRecord, _: Instant) -> JobRecord:
            after = lifecycle.reprioritise(job, priority)
            return job if after is job else by_hand(after, by)

        return self.changer.apply(check_job_id(job_id), decide)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Describes something that happened to a job.

    :ivar what: ``created``, ``enqueued``, ``activated``, ``started``, ``attempt_failed``,
        ``completed``, ``discarded``, ``dead_lettered``, ``cancelled``, ``replayed``; or, with an
        instant to come, ``scheduled``, ``next_attempt``, ``reservation_ends``, ``expires``.
    :ivar attempt: the attempt that it was of, where it was of one.
    :ivar is_past_life: before the job was retried by an operator.
    """

    at: Instant
    what: str
    attempt: int | None = None
    failure: Failure | None = None
    is_past_life: bool = False


def history_of(job: JobRecord) -> list[HistoryEntry]:
    """Return what happened to a job and what will, in the order of time.

    Within an instant a job becomes available after its attempt failed, and starts before it fails.
    """
    failed = [_failed(each, is_past_life=True) for each in job.past_failures]
    failed += [_failed(each) for each in job.failures]
    latest = None if job.started_at is None else job.attempt
    is_over = job.state.is_terminal
    found = [
        *_entries(
            ("created", job.created_at, None),
            ("scheduled", job.scheduled_at, None),
            ("activated", job.activated_at, None),
        ),
        *(each for each in failed if each.attempt != latest),
        *_entries(
            ("enqueued", job.enqueued_at, None),
            ("started", job.started_at, job.attempt),
        ),
        *(each for each in failed if each.attempt == latest),
        *_entries(
            ("completed", None if job.discarded_at else job.completed_at, job.attempt),
            ("dead_lettered" if job.is_dead_letter else "discarded", job.discarded_at, None),
            ("cancelled", job.cancelled_at, None),
            ("replayed", job.replay.at if job.replay else None, None),
            ("next_attempt", job.next_attempt_at, job.attempt + 1),
            ("reservation_ends", job.reservation.due_at if job.reservation else None, job.attempt),
            ("expires", None if is_over else job.expires_at, None),
        ),
    ]
    return sorted(found, key=lambda entry: entry.at)  # stable: the order above within an instant


def _entries(*rows: tuple[str, Instant | None, int | None]) -> list[HistoryEntry]:
    """Return the entries of what has an instant."""
    return [HistoryEntry(at, what, attempt) for what, at, attempt in rows if at is not None]


def _failed(failure: Failure, *, is_past_life: bool = False) -> HistoryEntry:
    return HistoryEntry(
        failure.occurred_at, "attempt_failed", failure.attempt, failure, is_past_life
    )
