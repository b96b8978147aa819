"""Finds jobs by what a filter names, in bounded steps (ojs-admin-api, section 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ojs_aws.domain.job import JobState
from ojs_aws.domain.list_total import ListTotal, shown_total
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import Clock, JobStore, QueueRegistry
from ojs_aws.services.jobs.filter import JobFilter
from ojs_aws.services.jobs.list_counts import NOBODY_COUNTED, ListCounts
from ojs_aws.services.jobs.list_stop import ListStop
from ojs_aws.services.jobs.list_walk import FoundJobs, ListWalk
from ojs_aws.services.jobs.sift import JobSift


@dataclass(frozen=True, slots=True)
class JobSearch:
    """Searches the lists of one queue, or of all queues by name."""

    store: JobStore
    queues: QueueRegistry
    clock: Clock
    counts: ListCounts

    def find(
        self, wanted: JobFilter, limit: int, cursor: str = "", *, newest_first: bool = True
    ) -> FoundJobs:
        """Return up to ``limit`` matching jobs, queue by queue and list by list.

        A job matches by its state as of now, also where time has decided and nobody has written
        it yet. One that changes its list meanwhile may be missed or found twice.

        :param newest_first: the order within a list; False begins with who would be next.
        :raises InvalidRequestError: not a cursor that this server gave out for such a filter.
        """
        names, now = self._names(wanted), self.clock.now()
        return self._walk(wanted, names, now, newest_first=newest_first).find(limit, cursor)

    def page(
        self,
        wanted: JobFilter,
        limit: int,
        cursor: str = "",
        *,
        skip: int = 0,
        newest_first: bool = True,
    ) -> tuple[FoundJobs, ListTotal]:
        """Return what :meth:`find` does, and how many jobs match in all.

        :param skip: matching jobs to leave out first; a cursor costs less.
        :raises InvalidRequestError: not a cursor that this server gave out for such a filter.
        """
        names, now = self._names(wanted), self.clock.now()
        walk = self._walk(wanted, names, now, newest_first=newest_first)
        found = walk.find(limit, cursor, skip=skip)
        shown = shown_total(
            len(found.jobs),
            offset=skip,
            is_first=not cursor,
            has_more=bool(found.cursor),
            is_followed=found.is_followed,
        )
        if shown.is_exact:
            return found, shown
        return found, shown.or_counted(self._count(wanted, names, now))

    def count(self, wanted: JobFilter) -> ListTotal:
        """Return how many jobs match, by counting rows; a lower bound if rows do not decide."""
        return self._count(wanted, self._names(wanted), self.clock.now())

    def _walk(
        self, wanted: JobFilter, names: Sequence[str], now: Instant, *, newest_first: bool
    ) -> ListWalk:
        parts = wanted.parts(now)
        return ListWalk(
            store=self.store,
            stops=[
                ListStop(name, part.name, part.between, f"{part.name}!")
                for name in names
                for part in parts
            ],
            sift=JobSift(self.store, wanted, now),
            queue=wanted.queue,
            shows=wanted.view.shows if wanted.view.types else None,
            newest_first=newest_first,
            scope=" for this filter",
        )

    def _count(self, wanted: JobFilter, names: Sequence[str], now: Instant) -> ListTotal:
        if not wanted.is_by_list:
            return NOBODY_COUNTED
        states = [str(state) for state in JobState if wanted.wants(state)]
        return self.counts.total(names, wanted.parts(now), states)

    def _names(self, wanted: JobFilter) -> list[str]:
        names = [wanted.queue] if wanted.queue else [info.name for info in self.queues.all()]
        return [name for name in names if wanted.view.shows(name)]
