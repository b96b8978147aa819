"""Cancelling, retrying and deleting many jobs (ojs-bulk-operations, sections 6 to 8).

Each job is one conditional write, told of by itself; or, where all or none are asked for, up to a
hundred are one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import InvalidRequestError, OjsError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.validation import check_job_id
from ojs_aws.ports import Admission, NotAdmittedError
from ojs_aws.services.bulk.by_filter import BulkAction, require_any
from ojs_aws.services.bulk.enqueue import BUDGET_MS, MAX_ITEMS
from ojs_aws.services.dead_letters.bulk import BulkOutcome, BulkStatus, tried
from ojs_aws.services.jobs.change import found

if TYPE_CHECKING:
    from ojs_aws.ports import JobStore, UniqueJobs
    from ojs_aws.services.jobs.change import JobChanger
    from ojs_aws.services.jobs.filter import JobFilter
    from ojs_aws.services.jobs.messages import JobMessages
    from ojs_aws.services.jobs.search import JobSearch

MAX_ATOMIC: Final = 100

S = JobState

TOGETHER_TRIES: Final = 3
"""How often jobs are changed together while others change one of them."""

STATES: Final[Mapping[BulkAction, frozenset[JobState]]] = {
    BulkAction.CANCEL: frozenset({S.AVAILABLE, S.SCHEDULED, S.RETRYABLE, S.PENDING}),
    BulkAction.RETRY: frozenset({S.DISCARDED, S.RETRYABLE}),
    BulkAction.DELETE: frozenset(state for state in JobState if state.is_terminal),
}
"""The states in which a job can be changed so; an active one is left to its worker."""

Accepts = Callable[[JobRecord], bool]


@dataclass(frozen=True, slots=True)
class BulkChanged:
    """What became of each job.

    :ivar cursor: where to go on with the same filter; empty when no more jobs match.
    """

    outcomes: tuple[BulkOutcome, ...]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class BulkChanges:
    """Changes the jobs that are named, or that a filter finds."""

    store: JobStore
    search: JobSearch
    changer: JobChanger
    job_messages: JobMessages
    transactions: Callable[[], UniqueJobs]

    def named(
        self, action: BulkAction, job_ids: Sequence[str], *, is_atomic: bool = False
    ) -> BulkChanged:
        """Change the jobs with these ids.

        :param is_atomic: all of them or none; up to 100, and no deletion.
        :raises PayloadTooLargeError: too many ids.
        :raises InvalidRequestError: no ids, a malformed one, or one that is named twice.
        """
        ids = _checked(job_ids, MAX_ATOMIC if is_atomic else MAX_ITEMS)
        jobs = self.changer.find_many(ids)
        if is_atomic:
            return BulkChanged(self._together(action, ids, jobs))
        return BulkChanged(self._one_by_one(action, ids, jobs))

    def matching(
        self, action: BulkAction, wanted: JobFilter, accepts: Accepts, cursor: str = ""
    ) -> BulkChanged:
        """Change the next jobs of a filter: as many as one request can look at.

        :param accepts: what the lists cannot tell; given whole jobs.
        :raises InvalidRequestError: states that the action cannot be done in, or a bad cursor.
        """
        wrong = sorted(wanted.states - STATES[action])
        if wrong:
            raise InvalidRequestError(
                f"Jobs in state '{wrong[0]}' cannot be changed by {action}; only "
                f"{', '.join(sorted(STATES[action]))}.",
                details={"field": "filter.state", "received": str(wrong[0])},
            )
        narrowed = replace(wanted, states=wanted.states or STATES[action])
        page = self.search.find(narrowed, MAX_ITEMS, cursor)
        jobs = {job.id: job for job in page.jobs if accepts(job)}
        return BulkChanged(self._one_by_one(action, [*jobs], jobs), page.cursor)

    # ------------------------------------------------------------------ each by itself
    def _one_by_one(
        self, action: BulkAction, ids: Sequence[str], jobs: Mapping[str, JobRecord]
    ) -> tuple[BulkOutcome, ...]:
        clock = self.changer.clock
        ends_at = clock.now() + BUDGET_MS
        covered: list[JobRecord] = []
        outcomes = []
        for job_id in ids:
            if clock.now() >= ends_at:
                late = "There was no time left for this job; send it again."
                outcomes.append(BulkOutcome(job_id, BulkStatus.FAILED, late))
                continue

            def change(job_id: str = job_id) -> None:
                self._change(action, found(jobs.get(job_id), job_id), covered)

            outcomes.append(tried(job_id, change))
        self.job_messages.send_for(covered, clock.now())
        return tuple(outcomes)

    def _change(self, action: BulkAction, job: JobRecord, covered: list[JobRecord]) -> None:
        if action is BulkAction.DELETE:
            settled = self.changer.settled(job, self.changer.clock.now())
            require_any(settled, STATES[action])
            self.store.delete(settled)
            return
        change = self.changer.apply(
            job.id, lambda now_there, now: self._after(action, now_there, now), start=job
        )
        self._follow(change.before, change.after, covered)

    def _after(self, action: BulkAction, job: JobRecord, now: Instant) -> JobRecord:
        """The job after the change.

        :raises ConflictError: its state does not allow it.
        """
        require_any(job, STATES[action])
        if action is BulkAction.CANCEL:
            return lifecycle.cancel(job, now)
        order = self.changer.clock.order()
        if job.state is S.RETRYABLE:
            return lifecycle.retry_now(job, now, order)
        return lifecycle.retry_discarded(job, now, order)

    def _follow(self, before: JobRecord, after: JobRecord, covered: list[JobRecord]) -> None:
        if after.state is S.AVAILABLE:
            covered.append(after)
        else:
            self.job_messages.delete_for(before)

    # ------------------------------------------------------------------ all or none
    def _together(
        self, action: BulkAction, ids: Sequence[str], jobs: Mapping[str, JobRecord]
    ) -> tuple[BulkOutcome, ...]:
        if action is BulkAction.DELETE:
            raise InvalidRequestError(
                "Jobs are deleted one by one; there is no atomic deletion.",
                details={"field": "atomicity", "received": "atomic", "expected": "partial"},
            )
        for _ in range(TOGETHER_TRIES):
            changes: list[Admission] = []
            now = self.changer.clock.now()
            outcomes = [self._decided(action, each, jobs, now, changes) for each in ids]
            refused = [each for each in outcomes if each.status is not BulkStatus.DONE]
            if refused:
                return _skipped_for(refused[0].job_id, outcomes)
            try:
                self.transactions().admit(changes)
            except NotAdmittedError:  # another change came first, or was under way: look again
                jobs = self.changer.find_many(ids)
                continue
            covered: list[JobRecord] = []
            for change in changes:
                if change.before is not None and change.after is not None:
                    self._follow(change.before, change.after, covered)
            self.job_messages.send_for(covered, now)
            return tuple(outcomes)
        reason = "Others changed the jobs meanwhile; nothing was changed."
        return tuple(BulkOutcome(each, BulkStatus.FAILED, reason) for each in ids)

    def _decided(
        self,
        action: BulkAction,
        job_id: str,
        jobs: Mapping[str, JobRecord],
        now: Instant,
        changes: list[Admission],
    ) -> BulkOutcome:
        """What becomes of a job; its change is noted."""

        def decide() -> None:
            job = self.changer.settled(found(jobs.get(job_id), job_id), now)
            at = max(now, lifecycle.last_change(job))  # by a clock that is ahead, maybe
            changes.append(Admission(before=job, after=self._after(action, job, at)))

        return tried(job_id, decide)


def _skipped_for(job_id: str, outcomes: Sequence[BulkOutcome]) -> tuple[BulkOutcome, ...]:
    """All that could have been done was not, because of one job."""
    reason = f"Not changed, because of job '{job_id}'."
    return tuple(
        each
        if each.status is not BulkStatus.DONE
        else BulkOutcome(each.job_id, BulkStatus.SKIPPED, reason)
        for each in outcomes
    )


def _checked(job_ids: Sequence[str], most: int) -> list[str]:
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
        raise InvalidRequestError(
            "The 'job_ids' attribute names a job twice.", details={"field": "job_ids"}
        )
    return [check_job_id(job_id) for job_id in job_ids]
