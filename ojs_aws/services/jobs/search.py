"""Finds jobs by what a filter names, in bounded steps (ojs-admin-api, section 7.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.job import JobState
from ojs_aws.ports import Clock, Count, JobList, JobStore, QueueRegistry
from ojs_aws.services.jobs.filter import JobFilter, Part
from ojs_aws.services.jobs.list_walk import FoundJobs, ListStop, ListWalk
from ojs_aws.services.jobs.sift import JobSift

MAX_COUNTED: Final = 50
"""Lists that are counted to know how many jobs match."""

_WAITING: Final = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)


@dataclass(frozen=True, slots=True)
class JobSearch:
    """Searches the lists of one queue, or of all queues by name."""

    store: JobStore
    queues: QueueRegistry
    clock: Clock

    def find(
        self,
        wanted: JobFilter,
        limit: int,
        cursor: str = "",
        *,
        skip: int = 0,
        newest_first: bool = True,
    ) -> FoundJobs:
        """Return up to ``limit`` matching jobs, queue by queue and list by list.

        A job matches by its state as of now, also where time has decided and nobody has written
        it yet. One that changes its list meanwhile may be missed or found twice.

        :param skip: matching jobs to leave out first; a cursor costs less.
        :param newest_first: the order within a list; False begins with who would be next.
        :raises InvalidRequestError: not a cursor that this server gave out for such a filter.
        """
        now = self.clock.now()
        parts = wanted.parts(now)
        stops = [
            ListStop(name, part.name, part.between, f"{part.name}!")
            for name in self._names(wanted)
            for part in parts
        ]
        sift = JobSift(self.store, wanted, now)
        walk = ListWalk(
            store=self.store,
            stops=stops,
            accepted=sift,
            unread=lambda: sift.unread,
            queue=wanted.queue,
            shows=wanted.view.shows if wanted.view.types else None,
            newest_first=newest_first,
            scope=" for this filter",
        )
        return walk.find(limit, cursor, skip=skip)

    def count(self, wanted: JobFilter) -> Count:
        """Return how many jobs match, by counting rows; a lower bound if rows do not decide."""
        names = self._names(wanted)
        parts = wanted.parts(self.clock.now())
        if not wanted.is_by_list or len(names) * len(parts) > MAX_COUNTED:
            return Count(0, is_exact=False)
        counts = [self._count(name, part, wanted) for name in names for part in parts]
        return Count(sum(each.rows for each in counts), all(each.is_exact for each in counts))

    def _count(self, queue: str, part: Part, wanted: JobFilter) -> Count:
        if part.name is not JobList.WAITING:
            return self.store.count(queue, part.name, part.between)
        if part.between is not None:
            # Of what time has overtaken, the state is not known without reading it.
            late = self.store.count(queue, part.name, part.between)
            return Count(0, is_exact=not late.rows)
        by_state = self.store.count_waiting(queue)
        counts = [by_state[state] for state in _WAITING if wanted.wants(state)]
        return Count(sum(each.rows for each in counts), all(each.is_exact for each in counts))

    def _names(self, wanted: JobFilter) -> list[str]:
        names = [wanted.queue] if wanted.queue else [info.name for info in self.queues.all()]
        return [name for name in names if wanted.view.shows(name)]
