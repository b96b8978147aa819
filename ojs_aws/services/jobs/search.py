"""Finding jobs by queue, state, type and time, in bounded steps (ojs-admin-api, section 7.1).

The index lists the jobs of each queue by state, in the order of the list, and by nothing else. So
a search walks the lists that can hold what is wanted, reads the jobs of each row, and looks at a
bounded number of rows; the cursor goes on from there. Nothing is scanned, and nothing is sorted
across lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.ports import Clock, Count, JobList, JobStore, ListedJob, Page, QueueRegistry
from ojs_aws.services.jobs.filter import JobFilter, Part

PAGE: Final = 100
MAX_EXAMINED: Final = 1000
"""Rows that one search looks at."""

MAX_QUERIES: Final = 200
"""Queries of the index that one search makes, empty lists included."""

MAX_COUNTED: Final = 50
"""Lists that are counted to know how many jobs match."""

_WAITING: Final = (JobState.SCHEDULED, JobState.RETRYABLE, JobState.ACTIVE)


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """Jobs as they are stored, without the documents kept elsewhere, and where to go on.

    :ivar cursor: empty when nothing is left; otherwise there may be more, even if ``jobs`` is
        empty.
    :ivar examined: rows that were looked at.
    """

    jobs: tuple[JobRecord, ...]
    cursor: str = ""
    examined: int = 0


@dataclass(frozen=True, slots=True)
class _Stop:
    """A list of one queue, and where in it to begin."""

    queue: str
    part: Part
    place: str = ""

    def mark(self, place: str) -> str:
        """Return the cursor that leads to a place of this list."""
        return f"{self.queue}!{self.part.name}!{place}"


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
        stops = self._stops(wanted, cursor)
        found: list[JobRecord] = []
        examined = queries = 0
        for position, stop in enumerate(stops):
            for page in self._pages(stop, limit + skip, newest_first=newest_first):
                queries += 1
                jobs = self._accepted(page.jobs, wanted)
                for row in page.jobs:
                    job = jobs.get(row.id)
                    examined += 1
                    if job is None:
                        continue
                    if skip:
                        skip -= 1
                        continue
                    found.append(job)
                    if len(found) == limit:
                        is_last = row is page.jobs[-1]
                        place = page.cursor if is_last else self.store.place_of(row, stop.part.name)
                        return FoundJobs(tuple(found), _mark(stops, position, place), examined)
                if examined >= MAX_EXAMINED or queries >= MAX_QUERIES:
                    return FoundJobs(tuple(found), _mark(stops, position, page.cursor), examined)
        return FoundJobs(tuple(found), "", examined)

    def count(self, wanted: JobFilter) -> Count:
        """Return how many jobs match, by counting rows; at least none, where that cannot tell."""
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
        return [wanted.queue] if wanted.queue else [info.name for info in self.queues.all()]

    def _stops(self, wanted: JobFilter, cursor: str) -> list[_Stop]:
        """Return the lists to look through, from where the cursor leads on."""
        parts = wanted.parts(self.clock.now())
        stops = [_Stop(name, part) for name in self._names(wanted) for part in parts]
        if not cursor:
            return stops
        queue, _, rest = cursor.partition("!")
        name, _, place = rest.partition("!")
        order = [str(part.name) for part in parts]
        if name not in order or (wanted.queue and queue != wanted.queue):
            raise InvalidRequestError(
                "The 'cursor' parameter is not one that this server gave out for this filter.",
                details={"field": "cursor"},
                hint="Pass next_cursor of the page before as it is, with the same filter.",
            )

        def is_ahead(stop: _Stop) -> bool:
            here = (stop.queue, order.index(stop.part.name))
            return here >= (queue, order.index(name))

        ahead = [stop for stop in stops if is_ahead(stop)]
        if ahead and (ahead[0].queue, ahead[0].part.name) == (queue, name):
            ahead[0] = _Stop(queue, ahead[0].part, place)
        return ahead

    def _pages(self, stop: _Stop, size: int, *, newest_first: bool) -> Iterator[Page]:
        place = stop.place
        while True:
            page = self.store.listed(
                stop.queue,
                stop.part.name,
                min(PAGE, max(size, 1)),
                cursor=place,
                newest_first=newest_first,
                between=stop.part.between,
            )
            yield page
            if not page.cursor:
                return
            place, size = page.cursor, PAGE

    def _accepted(self, rows: Sequence[ListedJob], wanted: JobFilter) -> dict[str, JobRecord]:
        """Return the matching jobs among some rows: one read for all."""
        now = self.clock.now()
        ids = [row.id for row in rows if wanted.accepts_type(row.type)]
        jobs = self.store.load_many(ids) if ids else {}
        return {
            job_id: job
            for job_id, job in jobs.items()
            if wanted.accepts(lifecycle.settle(job, now))
        }


def _mark(stops: Sequence[_Stop], position: int, place: str) -> str:
    """Return the cursor after a place, or of the next list where this one has ended."""
    if place:
        return stops[position].mark(place)
    return stops[position + 1].mark("") if position + 1 < len(stops) else ""
