"""Changes the priority of the jobs that a filter finds (an extension of ojs-admin-api, section 8).

A job that is moved to another place of its list may be met again; it has the priority then, and
is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.actor import Actor
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.authors import by_hand
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk.by_filter import checked_filter
from ojs_aws.services.bulk.engine import (
    MAX_BULK,
    BulkEngine,
    BulkOutcome,
    BulkReport,
    BulkStatus,
    require_since,
)
from ojs_aws.services.jobs.filter import JobFilter
from ojs_aws.services.jobs.search import JobSearch

REPRIORITISE: Final = "reprioritise"

STATES: Final = frozenset({JobState.AVAILABLE, JobState.SCHEDULED, JobState.PENDING})
"""The states in which a job waits to begin."""


@dataclass(frozen=True, slots=True)
class BulkPriority:
    """Moves the jobs of a filter, a hundred at a time."""

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
        narrow = checked_filter(wanted, REPRIORITISE, STATES, limit, is_dry=is_dry)
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
