"""Changes many jobs: each by one conditional write, with an outcome of its own.

Whatever goes wrong with one job, the others go on. A request works for a bounded time, and may be
repeated or stop in its middle; what it did not reach is reported as such. Bulk operations on jobs,
on dead letters and the purge of a queue all work this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ojs_aws.domain.access import View
from ojs_aws.domain.attributes import check_job_id, field_error, wrong_state
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.credentials import Actor, by_hand
from ojs_aws.domain.errors import (
    BackendUnavailableError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    OjsError,
    PayloadTooLargeError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines, lifecycle
from ojs_aws.domain.timestamps import Instant, format_instant
from ojs_aws.services.stored_jobs.change import JobChanger, found
from ojs_aws.services.stored_jobs.messages import JobMessages

MAX_BULK: Final = 100
"""Jobs that one request of an operator changes."""

MAX_DRY: Final = 1000
"""Jobs that a dry run counts in one request."""

BUDGET_MS: Final = 18_000
"""How long a request works on jobs; those that are left are reported as such."""
NO_TIME: Final = "There was no time left for this job; send it again."
"""Why a job is left; nothing was written for it."""

_DISCARDED: Final = frozenset({JobState.DISCARDED})


class BulkAction(StrEnum):
    """Says what to do with the jobs."""

    RETRY = "retry"
    CANCEL = "cancel"
    DELETE = "delete"


class BulkStatus(StrEnum):
    """Names the outcome of one job of a bulk operation."""

    DONE = "done"
    SKIPPED = "skipped"
    """It was in no state for the action any more."""
    NOT_FOUND = "not_found"
    FAILED = "failed"
    """The backend failed; whether it took effect may be unknown. Repeat the request."""


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """Holds the outcome of one job of a bulk operation.

    :ivar problem: the error of a job that failed.
    """

    job_id: str
    status: BulkStatus
    reason: str = ""
    problem: OjsError | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BulkReport:
    """Counts what one request did, or would do.

    :ivar outcomes: of each job that it met; a dry run says DONE for what would be.
    :ivar cursor: where to go on; empty when no more jobs match.
    :ivar examined: jobs of the caller that were looked at, or ids that were named.
    """

    outcomes: tuple[BulkOutcome, ...]
    cursor: str = ""
    examined: int = 0

    @property
    def done(self) -> int:
        """Return how many jobs were changed, or would be."""
        return sum(outcome.status is BulkStatus.DONE for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class BulkEngine:
    """Retries, cancels or deletes jobs that were read already.

    :ivar job_messages: None where messages of cancelled jobs are left to whoever receives them.
    """

    changer: JobChanger
    job_messages: JobMessages | None

    def find(self, job_ids: Sequence[str], view: View) -> dict[str, JobRecord]:
        """Read jobs by their ids, without those that the view does not include."""
        jobs = self.changer.find_many(job_ids)
        return {each: job for each, job in jobs.items() if view.shows_job(job)}

    def change(
        self,
        action: BulkAction,
        states: frozenset[JobState],
        jobs: Mapping[str, JobRecord],
        job_ids: Sequence[str] | None = None,
        *,
        as_of: Instant | None = None,
        by: Actor | None = None,
    ) -> tuple[BulkOutcome, ...]:
        """Change the jobs that are in one of some states, one after the other.

        :param jobs: as they were read, by id.
        :param job_ids: all that are meant, also those that were not found; by default ``jobs``.
        :param as_of: only jobs that were in their state then.
        :param by: who does it.
        """
        available: list[JobRecord] = []

        def change(job_id: str) -> None:
            job = found(jobs.get(job_id), job_id)
            self._change(action, states, job, available, as_of, by)

        outcomes = self.each(job_ids or [*jobs], change)
        self.send_for(available, self.changer.clock.now())
        return outcomes

    def each(
        self, job_ids: Sequence[str], change: Callable[[str], None]
    ) -> tuple[BulkOutcome, ...]:
        """Change jobs one after the other for a bounded time; those that are left have failed."""
        clock = self.changer.clock
        ends_at = clock.now() + BUDGET_MS

        def in_time(job_id: str) -> None:
            if clock.now() >= ends_at:
                raise BackendUnavailableError(NO_TIME)
            change(job_id)

        return tuple(tried(job_id, in_time) for job_id in job_ids)

    def _change(
        self,
        action: BulkAction,
        states: frozenset[JobState],
        job: JobRecord,
        available: list[JobRecord],
        as_of: Instant | None,
        by: Actor | None,
    ) -> None:
        if action is BulkAction.DELETE:
            settled = self.changer.settled(job, self.changer.clock.now())
            require_any(settled, action, states)
            require_since(settled, as_of)
            self.changer.store.delete(settled)
            return

        def changed(current: JobRecord, now: Instant) -> JobRecord:
            require_since(current, as_of)  # it may have been read again, after a change by others
            return by_hand(self.after(action, states, current, now), by)

        change = self.changer.apply(job.id, changed, start=job)
        self.follow(change.before, change.after, available)

    def preview(
        self,
        action: BulkAction,
        states: frozenset[JobState],
        jobs: Mapping[str, JobRecord],
        job_ids: Sequence[str],
        as_of: Instant,
    ) -> tuple[BulkOutcome, ...]:
        """Return what :meth:`change` would do to each job; parameters as there."""

        def check(job_id: str) -> None:
            job = self.changer.settled(found(jobs.get(job_id), job_id), self.changer.clock.now())
            require_any(job, action, states)
            require_since(job, as_of)

        return tuple(tried(job_id, check) for job_id in job_ids)

    def after(
        self, action: BulkAction, states: frozenset[JobState], job: JobRecord, now: Instant
    ) -> JobRecord:
        """Return the job after a retry or a cancellation.

        :raises ConflictError: its state does not allow it.
        """
        require_any(job, action, states)
        if action is BulkAction.CANCEL:
            return lifecycle.cancel(job, now)
        order = self.changer.clock.order()
        if job.state is JobState.RETRYABLE:
            return lifecycle.retry_now(job, now, order)
        return lifecycle.retry_discarded(job, now, order)

    def follow(self, before: JobRecord, after: JobRecord, available: list[JobRecord]) -> None:
        """Note a job that needs a message, or delete the message of one that no longer does."""
        if after.state is JobState.AVAILABLE:
            available.append(after)
        elif self.job_messages is not None:
            self.job_messages.end_reservation(before, self.changer.clock.now())

    def send_for(self, available: Sequence[JobRecord], now: Instant) -> None:
        """Send the messages of the jobs that are available now."""
        if self.job_messages is not None:
            self.job_messages.send_for(available, now)


def tried(job_id: str, change: Callable[[str], None]) -> BulkOutcome:
    """Change one of many jobs. Whatever goes wrong with it, the others continue."""
    try:
        change(job_id)
    except (ConflictError, StaleJobError) as problem:
        return BulkOutcome(job_id, BulkStatus.SKIPPED, str(problem))
    except NotFoundError as problem:
        return BulkOutcome(job_id, BulkStatus.NOT_FOUND, problem.message)
    except OjsError as problem:
        return BulkOutcome(job_id, BulkStatus.FAILED, problem.message, problem)
    return BulkOutcome(job_id, BulkStatus.DONE)


def require_any(job: JobRecord, action: BulkAction, states: frozenset[JobState]) -> None:
    """Refuse a job that is in none of some states.

    :raises ConflictError: naming the state the job is in.
    """
    if states == _DISCARDED:
        lifecycle.require(job, action, JobState.DISCARDED)
    elif job.state not in states:
        raise wrong_state("job", job.id, job.state, f"Job is in {job.state} state")


def require_since(job: JobRecord, as_of: Instant | None) -> None:
    """Refuse a job that came into its state after an instant, if there is one.

    :raises ConflictError: it did.
    """
    if as_of is not None and deadlines.last_change(job) > as_of:
        message = f"Job came into its state after {format_instant(as_of)}"
        raise wrong_state("job", job.id, job.state, message)


def check_limit(limit: int, most: int = MAX_BULK) -> None:
    """Refuse a number of jobs that one request cannot change.

    :raises InvalidRequestError: it is not from 1 to ``most``.
    """
    if not 0 < limit <= most:
        message = f"The 'limit' attribute must be from 1 to {most}; received {limit}."
        raise field_error("limit", message, received=limit)


def checked_ids(job_ids: Sequence[str], most: int) -> list[str]:
    """Return the ids that a request names.

    :raises PayloadTooLargeError: too many.
    :raises InvalidRequestError: none, a malformed one, or one that is named twice.
    """
    problem: type[OjsError] | None = None
    if not job_ids:
        problem = InvalidRequestError
    elif len(job_ids) > most:
        problem = PayloadTooLargeError
    if problem is not None:
        raise problem(
            f"The 'job_ids' attribute names from 1 to {most} jobs; received {len(job_ids)}.",
            details={"field": "job_ids", "received": len(job_ids), "max_batch_size": most},
        )
    if len(set(job_ids)) < len(job_ids):
        raise field_error("job_ids", "The 'job_ids' attribute names a job twice.")
    return [check_job_id(job_id) for job_id in job_ids]
