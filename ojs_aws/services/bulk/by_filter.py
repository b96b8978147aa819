"""Retrying, cancelling and deleting the jobs that a filter finds (ojs-admin-api, section 8).

A request looks at a bounded number of jobs and tells what became of each; its cursor goes on. Each
job is one conditional write, so a request may be repeated, or stop in its middle. Lists are walked
from the newest job back, so that what the operation itself brings about (a retried job that fails
again) is never met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import ConflictError, InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import JobStore
from ojs_aws.services.dead_letters.bulk import MAX_BULK, BulkOutcome, BulkStatus, tried
from ojs_aws.services.jobs.change import JobChanger
from ojs_aws.services.jobs.filter import JobFilter
from ojs_aws.services.jobs.messages import JobMessages
from ojs_aws.services.jobs.search import JobSearch

MAX_DRY: Final = 1000
"""Jobs that a dry run counts in one request."""


class BulkAction(StrEnum):
    """What is to be done."""

    RETRY = "retry"
    CANCEL = "cancel"
    DELETE = "delete"


STATES: Final[Mapping[BulkAction, frozenset[JobState]]] = {
    BulkAction.RETRY: frozenset({JobState.DISCARDED}),
    BulkAction.CANCEL: frozenset(state for state in JobState if not state.is_terminal),
    BulkAction.DELETE: frozenset(state for state in JobState if state.is_terminal),
}
"""The states in which a job can be changed so. Cancelled is final (core, section 6.4)."""


@dataclass(frozen=True, slots=True)
class BulkByFilterReport:
    """What one request did, or would do.

    :ivar outcomes: of each job that it met; a dry run says DONE for what would be.
    :ivar cursor: where to go on; empty when no more jobs match.
    """

    outcomes: tuple[BulkOutcome, ...]
    cursor: str = ""

    @property
    def done(self) -> int:
        """How many jobs were changed, or would be."""
        return sum(outcome.status is BulkStatus.DONE for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class BulkByFilter:
    """Changes the jobs that a filter finds, a hundred at a time."""

    store: JobStore
    search: JobSearch
    changer: JobChanger
    job_messages: JobMessages

    def __call__(
        self,
        action: BulkAction,
        wanted: JobFilter,
        limit: int = MAX_BULK,
        cursor: str = "",
        *,
        is_dry: bool = False,
    ) -> BulkByFilterReport:
        """Change the next jobs of a filter, or only say which those are.

        :param limit: jobs of this request, at most 100 (1000 for a dry run).
        :param cursor: of the request before, for the same filter.
        :raises InvalidRequestError: a bad limit or cursor; no filter at all; or states that the
            action cannot be done in.
        """
        most = MAX_DRY if is_dry else MAX_BULK
        if not 0 < limit <= most:
            raise InvalidRequestError(
                f"The 'limit' attribute must be from 1 to {most}; received {limit}.",
                details={"field": "limit", "received": limit},
            )
        found = self.search.find(_for(action, wanted), limit, cursor)
        if is_dry:
            outcomes = [BulkOutcome(job.id, BulkStatus.DONE) for job in found.jobs]
        else:
            change, finish = self._change(action, _for(action, wanted).states)
            outcomes = [tried(job.id, _bound(change, job)) for job in found.jobs]
            finish()
        return BulkByFilterReport(tuple(outcomes), found.cursor)

    def _change(
        self, action: BulkAction, states: frozenset[JobState]
    ) -> tuple[Callable[[JobRecord], None], Callable[[], None]]:
        """What to do with each job that is still in one of the states, and what in the end."""
        clock = self.changer.clock
        retried: list[JobRecord] = []

        def retry(job: JobRecord) -> None:
            change = self.changer.apply(
                job.id,
                lambda found, now: lifecycle.retry_discarded(found, now, clock.order()),
                start=job,
            )
            retried.append(change.after)

        def cancelled(found: JobRecord, now: Instant) -> JobRecord:
            require_any(found, states)
            return lifecycle.cancel(found, now)

        def cancel(job: JobRecord) -> None:
            change = self.changer.apply(job.id, cancelled, start=job)
            self.job_messages.delete_for(change.before)

        def delete(job: JobRecord) -> None:
            settled = self.changer.settled(job, clock.now())
            require_any(settled, states)
            self.store.delete(settled)

        changes = {
            BulkAction.RETRY: retry,
            BulkAction.CANCEL: cancel,
            BulkAction.DELETE: delete,
        }
        return changes[action], lambda: self.job_messages.send_for(retried, clock.now())


def require_any(job: JobRecord, states: frozenset[JobState]) -> None:
    """Refuse what only a job in one of some states may undergo.

    :raises ConflictError: naming the state the job is in.
    """
    if job.state not in states:
        raise ConflictError(
            f"Job is in {job.state} state",
            details={"job_id": job.id, "current_state": str(job.state)},
        )


def _bound(change: Callable[[JobRecord], None], job: JobRecord) -> Callable[[], None]:
    return lambda: change(job)


def _for(action: BulkAction, wanted: JobFilter) -> JobFilter:
    """The filter, narrowed to the states that the action can be done in."""
    if wanted.is_everything:
        raise InvalidRequestError(
            "The 'filter' object is empty, which would mean every job of every queue.",
            details={"field": "filter"},
            hint="Name a queue, a state, a type or a time.",
        )
    possible = STATES[action]
    wrong = sorted(wanted.states - possible)
    if wrong:
        raise InvalidRequestError(
            f"Jobs in state '{wrong[0]}' cannot be changed by {action}; only "
            f"{', '.join(sorted(possible))}.",
            details={
                "field": "filter.state",
                "received": wrong[0],
                "allowed": [str(state) for state in sorted(possible)],
            },
        )
    return replace(wanted, states=wanted.states or possible)
