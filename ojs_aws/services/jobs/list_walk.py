"""Walks lists of jobs, queue by queue and list by list, in bounded steps.

The index lists the jobs of each queue by state, in the order of the list, and by nothing else. So
whoever looks for jobs walks the lists that can hold them, reads the jobs of each page in one call,
and looks at a bounded number of rows; the cursor goes on from there. Nothing is scanned, and
nothing is sorted across lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import Between, JobList, JobStore, ListedJob, Page

PAGE: Final = 100
MAX_EXAMINED: Final = 1000
"""Rows that one walk looks at."""

MAX_SIFTED: Final = 5000
"""The same where rows of others are passed by: they are not read, but for their row."""

MAX_QUERIES: Final = 200
"""Queries of the index that one walk makes, empty lists included."""


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """Jobs as they are stored, without the documents kept elsewhere, and where to go on.

    :ivar cursor: empty when nothing is left; otherwise there may be more, even if ``jobs`` is
        empty.
    :ivar examined: rows that were looked at, without those that the caller may not see.
    """

    jobs: tuple[JobRecord, ...]
    cursor: str = ""
    examined: int = 0


@dataclass(frozen=True, slots=True)
class ListStop:
    """Names a list of one queue, or a range of it.

    :ivar label: names the list in cursors; empty where every queue has one list only.
    """

    queue: str
    name: JobList
    between: Between | None = None
    label: str = ""

    def pages(
        self,
        store: JobStore,
        *,
        place: str = "",
        first: int = PAGE,
        most: int | None = None,
        newest_first: bool = True,
    ) -> Iterator[Page]:
        """Yield the pages of the list from a place on.

        :param first: rows of the first page.
        :param most: rows in all; None for all that there are.
        """
        size = min(first, PAGE)
        while most is None or most > 0:
            page = store.listed(
                self.queue,
                self.name,
                size if most is None else min(size, most),
                cursor=place,
                newest_first=newest_first,
                between=self.between,
            )
            yield page
            if not page.cursor:
                return
            place, size = page.cursor, PAGE
            most = None if most is None else most - len(page.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWalk:
    """Finds jobs in some lists.

    :ivar accepted: gives the wanted jobs among some rows, by id.
    :ivar unread: gives the first row that ``accepted`` did not look at any more; empty for none.
    :ivar queue: the only queue that a cursor may name; empty for any.
    :ivar max_bytes: a page ends where its documents grow beyond so many.
    :ivar shows: says of a queue and a type whether the caller may see such jobs, where the lists
        have others: a cursor may then name only a job that the caller may see.
    :ivar scope: says in the error of a wrong cursor what it was given out for.
    """

    store: JobStore
    stops: Sequence[ListStop]
    accepted: Callable[[Sequence[ListedJob]], Mapping[str, JobRecord]]
    unread: Callable[[], str] = lambda: ""
    queue: str = ""
    newest_first: bool = True
    max_bytes: float = float("inf")
    shows: Callable[[str, str], bool] | None = None
    scope: str = ""

    def find(
        self, limit: int, cursor: str, *, skip: int = 0, first: int | None = None
    ) -> FoundJobs:
        """Return up to ``limit`` jobs, and where to go on.

        :param skip: jobs to leave out first.
        :param first: rows of the first page of each list; by default as many as are wanted.
        :raises InvalidRequestError: not a cursor that this server gave out for these lists, or
            too many jobs of others and none of the caller's.
        """
        stops, place = self._ahead(cursor)
        search = _Search(self, stops, limit, skip)
        for position, stop in enumerate(stops):
            for page in stop.pages(
                self.store,
                place=place,
                first=first or max(limit + skip, 1),
                newest_first=self.newest_first,
            ):
                if (following := search.look_at(position, page)) is not None:
                    return FoundJobs(tuple(search.found), following, search.examined)
            place = ""
        return FoundJobs(tuple(search.found), "", search.examined)

    def _ahead(self, cursor: str) -> tuple[Sequence[ListStop], str]:
        """Return the lists from where the cursor leads on, and the place in the first of them."""
        if not cursor:
            return self.stops, ""
        queue, mark, rest = cursor.partition("!")
        labels = list(dict.fromkeys(stop.label for stop in self.stops))
        label = next((each for each in labels if rest.startswith(each)), None)
        try:
            check_queue(queue)
        except InvalidRequestError:
            mark = ""
        if not mark or label is None or queue != (self.queue or queue):
            raise InvalidRequestError(
                f"The 'cursor' parameter is not one that this server gave out{self.scope}.",
                details={"field": "cursor"},
                hint="Pass next_cursor of the page before as it is, with the same filter."
                if self.scope
                else "Pass next_cursor of the previous page as it is.",
            )
        here = (queue, labels.index(label))
        ahead = [each for each in self.stops if (each.queue, labels.index(each.label)) >= here]
        is_there = bool(ahead) and (ahead[0].queue, ahead[0].label) == (queue, label)
        return ahead, rest.removeprefix(label) if is_there else ""


@dataclass(slots=True)
class _Search:
    """Collects the jobs of one walk.

    :ivar behind: the cursor behind the last job that the caller may see, or list that ended; empty
        for none.
    :ivar passed: rows that were passed, also those of others.
    """

    walk: ListWalk
    stops: Sequence[ListStop]
    limit: int
    skip: int
    found: list[JobRecord] = field(default_factory=list)
    examined: int = 0
    passed: int = 0
    queries: int = 0
    size: int = 0
    behind: str = ""
    taken: set[str] = field(default_factory=set)

    def look_at(self, position: int, page: Page) -> str | None:
        """Look at the rows of a page; return where to go on if the walk ends with it.

        :raises InvalidRequestError: too many jobs of others and none of the caller's.
        """
        self.queries += 1
        jobs = self.walk.accepted(page.jobs) if page.jobs else {}
        unread = self.walk.unread()
        for row in page.jobs:
            if row.id == unread:
                return self.behind
            is_last = row is page.jobs[-1]
            here = page.cursor if is_last else self._place_of(row, position)
            self.passed += 1
            if self.walk.shows is None or self.walk.shows(row.queue, row.type):
                self.examined += 1
                self.behind = _mark(self.stops, position, here)
            job = jobs.get(row.id)
            if job is not None and job.id not in self.taken:  # two rows may list one completed job
                self._take(job)
                if len(self.found) == self.limit or self.size >= self.walk.max_bytes:
                    return self.behind
            if self.examined >= MAX_EXAMINED or self.passed >= MAX_SIFTED:
                return self._end(position, here)
        if not page.cursor:
            self.behind = _mark(self.stops, position, "")
        return self._end(position, page.cursor) if self.queries >= MAX_QUERIES else None

    def _place_of(self, row: ListedJob, position: int) -> str:
        return self.walk.store.place_of(row, self.stops[position].name)

    def _take(self, job: JobRecord) -> None:
        self.taken.add(job.id)
        if self.skip > 0:
            self.skip -= 1
        else:
            self.found.append(job)
            self.size += job.document_bytes

    def _end(self, position: int, here: str) -> str:
        """Return where a walk goes on that has looked at enough.

        :raises InvalidRequestError: only behind a job that the caller may not see.
        """
        if self.walk.shows is None:
            return _mark(self.stops, position, here)
        if not self.behind:
            message = "None of the jobs that one request looks at are of the caller's job types."
            raise InvalidRequestError(
                message,
                details={"field": "queue", "max_examined": MAX_SIFTED},
                hint="Name a queue, a state or a time.",
            )
        return self.behind


def _mark(stops: Sequence[ListStop], position: int, place: str) -> str:
    """Return the cursor after a place, or of the next list where this one has ended."""
    if not place:
        position += 1
    if position >= len(stops):
        return ""
    return f"{stops[position].queue}!{stops[position].label}{place}"
