"""Changes the jobs that a filter finds, or that are named, for operators (ojs-admin-api, 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.credentials import Actor, by_hand
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import (
    MAX_BULK,
    MAX_DRY,
    BulkAction,
    BulkEngine,
    BulkOutcome,
    BulkReport,
    BulkStatus,
    check_limit,
    checked_ids,
    require_since,
)
from ojs_aws.services.jobs.job_lists import JobFilter
from ojs_aws.services.jobs.list_walk import FoundJobs
from ojs_aws.services.jobs.search import JobSearch

STATES: Final[Mapping[BulkAction, frozenset[JobState]]] = {
    BulkAction.RETRY: frozenset({JobState.DISCARDED}),
    BulkAction.CANCEL: frozenset(state for state in JobState if not state.is_terminal),
    BulkAction.DELETE: frozenset(state for state in JobState if state.is_terminal),
}
"""The states in which operators can do each action. Cancelled is final (core, section 6.4).

For clients another specification applies: see ``changes.STATES``.
"""
REPRIORITISE: Final = "reprioritise"


@dataclass(frozen=True, slots=True)
class BulkByFilter:
    """Changes the jobs that a filter finds, a hundred at a time."""

    engine: BulkEngine
    search: JobSearch

    def __call__(
        self,
        action: BulkAction,
        wanted: JobFilter,
        limit: int = MAX_BULK,
        cursor: str = "",
        *,
        is_dry: bool = False,
        by: Actor | None = None,
    ) -> BulkReport:
        """Change the next jobs of a filter, or only say which those are.

        :param limit: jobs of this request, at most 100 (1000 for a dry run).
        :param cursor: of the request before, for the same filter.
        :param by: who does it.
        :raises InvalidRequestError: a bad limit or cursor; no filter at all; or states that the
            action cannot be done in.
        """
        narrow, page = self._next(wanted, action, STATES[action], limit, cursor, is_dry=is_dry)
        jobs = {job.id: job for job in page.jobs}
        if is_dry:
            return _dry(jobs, page)
        outcomes = self.engine.change(action, narrow.states, jobs, as_of=wanted.as_of, by=by)
        return BulkReport(outcomes, page.cursor, page.examined)

    def reprioritise(
        self,
        priority: int,
        wanted: JobFilter,
        limit: int = MAX_BULK,
        cursor: str = "",
        *,
        is_dry: bool = False,
        by: Actor | None = None,
    ) -> BulkReport:
        """Give the next jobs of a filter a priority, or only say which those are.

        Jobs that have it already are left out, and so are those that came into their state after
        ``wanted.as_of``.

        :param limit: jobs of this request that are looked at, at most 100 (1000 for a dry run).
        :param cursor: of the request before, for the same filter.
        :param by: who does it.
        :raises InvalidRequestError: a bad limit or cursor; no filter at all; or states in which a
            job does not wait to begin.
        """
        possible = lifecycle.WAITS_TO_BEGIN
        _, page = self._next(wanted, REPRIORITISE, possible, limit, cursor, is_dry=is_dry)
        jobs = {job.id: job for job in page.jobs if job.priority != priority}
        if is_dry:
            return _dry(jobs, page)

        def move(current: JobRecord, _: Instant) -> JobRecord:
            require_since(current, wanted.as_of)
            after = lifecycle.reprioritise(current, priority)
            return current if after is current else by_hand(after, by)

        def change(job_id: str) -> None:
            self.engine.changer.apply(job_id, move, start=jobs[job_id])

        return BulkReport(self.engine.each([*jobs], change), page.cursor, page.examined)

    def named(
        self,
        action: BulkAction,
        job_ids: Sequence[str],
        *,
        view: View = UNBOUND,
        by: Actor | None = None,
    ) -> BulkReport:
        """Change the jobs with these ids, at most 100, in whatever state the action is possible.

        :param view: what the caller may see; a job beyond it is not found.
        :param by: who does it.
        :raises PayloadTooLargeError: too many ids.
        :raises InvalidRequestError: no ids, a malformed one, or one that is named twice.
        """
        ids = checked_ids(job_ids, MAX_BULK)
        jobs = self.engine.find(ids, view)
        outcomes = self.engine.change(action, STATES[action], jobs, ids, by=by)
        return BulkReport(outcomes, examined=len(ids))

    def _next(
        self,
        wanted: JobFilter,
        action: str,
        possible: frozenset[JobState],
        limit: int,
        cursor: str,
        *,
        is_dry: bool,
    ) -> tuple[JobFilter, FoundJobs]:
        """Return the filter, narrowed to the states that are possible, and the next of its jobs.

        :raises InvalidRequestError: a bad limit or cursor, no filter at all, or another state.
        """
        check_limit(limit, MAX_DRY if is_dry else MAX_BULK)
        if wanted.is_everything:
            message = "The 'filter' object is empty, which would mean every job of every queue."
            hint = "Name a queue, a state, a type, a tag, an error or a time."
            raise field_error("filter", message, hint)
        narrow = narrowed(wanted, action, possible, allowed=[*map(str, sorted(possible))])
        return narrow, self.search.find(narrow, limit, cursor)


def _dry(jobs: Iterable[str], page: FoundJobs) -> BulkReport:
    """Return what would be changed."""
    outcomes = tuple(BulkOutcome(job_id, BulkStatus.DONE) for job_id in jobs)
    return BulkReport(outcomes, page.cursor, page.examined)


def narrowed(
    wanted: JobFilter, action: str, possible: frozenset[JobState], **details: JsonValue
) -> JobFilter:
    """Return the filter, narrowed to the states that the action can be done in.

    :param details: more details of the error.
    :raises InvalidRequestError: the filter names another state.
    """
    wrong = sorted(wanted.states - possible)
    if wrong:
        raise InvalidRequestError(
            f"Jobs in state '{wrong[0]}' cannot be changed by {action}; only "
            f"{', '.join(sorted(possible))}.",
            details={"field": "filter.state", "received": str(wrong[0]), **details},
        )
    return replace(wanted, states=wanted.states or possible)
