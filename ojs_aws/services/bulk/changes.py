"""Cancels, retries and deletes many jobs for clients (ojs-bulk-operations, sections 6 to 8).

Each job is one conditional write with an outcome of its own; or, where all or none are asked for,
up to a hundred are one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import field_error, wrong_state
from ojs_aws.domain.conflicts import NotAdmittedError
from ojs_aws.domain.credentials import Actor, by_hand
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.batches import Admission
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import (
    BulkAction,
    BulkEngine,
    BulkOutcome,
    BulkReport,
    BulkStatus,
    checked_ids,
    tried,
)
from ojs_aws.services.bulk.by_filter import narrowed
from ojs_aws.services.bulk.enqueue import MAX_ITEMS
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.services.jobs.search import JobSearch
from ojs_aws.services.stored_jobs.change import found

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.unique import UniqueJobs

MAX_ATOMIC: Final = 100

S = JobState

TOGETHER_TRIES: Final = 3
"""How often a change of all or none is tried while other requests change one of the jobs."""

STATES: Final[Mapping[BulkAction, frozenset[JobState]]] = {
    BulkAction.CANCEL: frozenset({S.AVAILABLE, S.SCHEDULED, S.RETRYABLE, S.PENDING}),
    BulkAction.RETRY: frozenset({S.DISCARDED, S.RETRYABLE}),
    BulkAction.DELETE: frozenset(state for state in JobState if state.is_terminal),
}
"""The states in which each action is possible. An active job is left to its worker.

For operators another specification applies: see ``by_filter.STATES``.
"""

Accepts = Callable[[JobRecord], bool]


@dataclass(frozen=True, slots=True)
class BulkChanges:
    """Changes the jobs that are named, or that a filter finds."""

    engine: BulkEngine
    search: JobSearch
    transactions: Callable[[], UniqueJobs]

    def named(
        self,
        action: BulkAction,
        job_ids: Sequence[str],
        *,
        is_atomic: bool = False,
        view: View = UNBOUND,
        by: Actor | None = None,
    ) -> BulkReport:
        """Change the jobs with these ids.

        :param is_atomic: all of them or none; up to 100, and no deletion.
        :param view: what the caller may see; a job beyond it is not found.
        :param by: who does it.
        :raises PayloadTooLargeError: too many ids.
        :raises InvalidRequestError: no ids, a malformed one, or one that is named twice.
        """
        ids = checked_ids(job_ids, MAX_ATOMIC if is_atomic else MAX_ITEMS)
        if is_atomic:
            return BulkReport(self._together(action, ids, view, by))
        jobs = self.engine.find(ids, view)
        return BulkReport(self.engine.change(action, STATES[action], jobs, ids, by=by))

    def matching(
        self,
        action: BulkAction,
        wanted: JobFilter,
        accepts: Accepts,
        cursor: str = "",
        by: Actor | None = None,
    ) -> BulkReport:
        """Change the next jobs of a filter: as many as one request can look at.

        :param accepts: decides about what lists do not know, such as the metadata of a job.
            Documents that are stored elsewhere are not filled in.
        :param by: who does it.
        :raises InvalidRequestError: the filter names a state in which the action is impossible,
            or the cursor is invalid.
        """
        page = self.search.find(narrowed(wanted, action, STATES[action]), MAX_ITEMS, cursor)
        jobs = {job.id: job for job in page.jobs if accepts(job)}
        return BulkReport(self.engine.change(action, STATES[action], jobs, by=by), page.cursor)

    def _together(
        self, action: BulkAction, ids: Sequence[str], view: View, by: Actor | None
    ) -> tuple[BulkOutcome, ...]:
        if action is BulkAction.DELETE:
            message = "Jobs are deleted one by one; there is no atomic deletion."
            raise field_error("atomicity", message, received="atomic", expected="partial")
        changer = self.engine.changer
        for _ in range(TOGETHER_TRIES):
            jobs = self.engine.find(ids, view)
            changes: list[Admission] = []
            now = changer.clock.now()
            outcomes = [self._decided(action, each, jobs, now, changes, by) for each in ids]
            refused = [each for each in outcomes if each.status is not BulkStatus.DONE]
            if refused:
                return _skipped_for(refused[0].job_id, outcomes)
            try:
                self.transactions().admit(changes)
            except NotAdmittedError:  # another change came first, or was under way: look again
                continue
            available: list[JobRecord] = []
            for change in changes:
                if change.before is not None and change.after is not None:
                    self.engine.follow(change.before, change.after, available)
            self.engine.send_for(available, now)
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
        by: Actor | None,
    ) -> BulkOutcome:
        """Return the outcome for a job, and append its change to ``changes``."""

        def decide(job_id: str) -> None:
            job = self.engine.changer.settled(found(jobs.get(job_id), job_id), now)
            at = max(now, deadlines.last_change(job))  # its writer's clock may be ahead
            after = self.engine.after(action, STATES[action], job, at)
            if job.sequence is not None and job.state is JobState.DISCARDED:
                message = "A discarded job of a sequence is retried by itself: it needs its turn."
                raise wrong_state("job", job.id, job.state, message)
            after = self.engine.changer.placed(job, after)
            changes.append(Admission(before=job, after=by_hand(after, by)))

        return tried(job_id, decide)


def _skipped_for(job_id: str, outcomes: Sequence[BulkOutcome]) -> tuple[BulkOutcome, ...]:
    """Mark the jobs that could have been changed as skipped, because of one job."""
    reason = f"Not changed, because of job '{job_id}'."
    return tuple(
        each
        if each.status is not BulkStatus.DONE
        else BulkOutcome(each.job_id, BulkStatus.SKIPPED, reason)
        for each in outcomes
    )
