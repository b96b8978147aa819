"""Changes the jobs that a filter finds: retries, cancels, deletes, or sets their priority.

See ojs-admin-api, section 8. A request looks at a bounded number of jobs, and its cursor goes on.
Lists are walked from the newest job back, so that what the operation itself brings about (a retried
job that fails again) is never met.

A job that is moved to another place of its list may be met again; it has the priority then, and
is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.credentials import Actor, by_hand
from ojs_aws.domain.errors import InvalidRequestError, JsonValue
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk.engine import (
    MAX_BULK,
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
from ojs_aws.services.jobs.search import JobSearch

MAX_DRY: Final = 1000
"""Jobs that a dry run counts in one request."""
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
        narrow = checked_filter(wanted, action, STATES[action], limit, is_dry=is_dry)
        page = self.search.find(narrow, limit, cursor)
        if is_dry:
            outcomes = tuple(BulkOutcome(job.id, BulkStatus.DONE) for job in page.jobs)
        else:
            jobs = {job.id: job for job in page.jobs}
            outcomes = self.engine.change(action, narrow.states, jobs, as_of=wanted.as_of, by=by)
        return BulkReport(outcomes, page.cursor, page.examined)

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


def checked_filter(
    wanted: JobFilter, action: str, possible: frozenset[JobState], limit: int, *, is_dry: bool
) -> JobFilter:
    """Return the filter of an operator's request, narrowed to the states that are possible.

    :raises InvalidRequestError: a bad limit, no filter at all, or another state.
    """
    check_limit(limit, MAX_DRY if is_dry else MAX_BULK)
    if wanted.is_everything:
        message = "The 'filter' object is empty, which would mean every job of every queue."
        hint = "Name a queue, a state, a type, a tag, an error or a time."
        raise field_error("filter", message, hint)
    return narrowed(wanted, action, possible, allowed=[*map(str, sorted(possible))])


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


@dataclass(frozen=True, slots=True)
class BulkPriority:
    """Gives the jobs of a filter a priority, a hundred at a time."""

    engine: BulkEngine
    search: JobSearch

    def __call__(
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
        narrow = checked_filter(
            wanted, REPRIORITISE, lifecycle.WAITS_TO_BEGIN, limit, is_dry=is_dry
        )
        page = self.search.find(narrow, limit, cursor)
        jobs = {job.id: job for job in page.jobs if job.priority != priority}
        if is_dry:
            outcomes = tuple(BulkOutcome(job_id, BulkStatus.DONE) for job_id in jobs)
            return BulkReport(outcomes, page.cursor, page.examined)

        def move(current: JobRecord, _: Instant) -> JobRecord:
            require_since(current, wanted.as_of)
            after = lifecycle.reprioritise(current, priority)
            return current if after is current else by_hand(after, by)

        def change(job_id: str) -> None:
            self.engine.changer.apply(job_id, move, start=jobs[job_id])

        return BulkReport(self.engine.each([*jobs], change), page.cursor, page.examined)
