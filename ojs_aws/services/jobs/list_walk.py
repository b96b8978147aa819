"""Walks lists of jobs, queue by queue and list by list, in bounded steps.

The index lists the jobs of each queue by state, in the order of the list, and by nothing else. So
whoever looks for jobs walks the lists that can hold them, reads the jobs of each page in one call,
and looks at a bounded number of rows; the cursor goes on from there. Nothing is scanned, and
nothing is sorted across lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.ports import Between, JobList, JobStore, ListedJob, Page

PAGE: Final = 100
MAX_EXAMINED: Final = 1000
"""Rows that one walk looks at."""

MAX_QUERIES: Final = 200
"""Queries of the index that one walk makes, empty lists included."""


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
    :ivar queue: the only queue that a cursor may name; empty for any.
    :ivar max_bytes: a page ends where its documents grow beyond so many.
    :ivar scope: says in the error of a wrong cursor what it was given out for.
    """

    store: JobStore
    stops: Sequence[ListStop]
    accepted: Callable[[Sequence[ListedJob]], Mapping[str, JobRecord]]
    queue: str = ""
    newest_first: bool = True
    max_bytes: float = float("inf")
    scope: str = ""

    def find(
        self, limit: int, cursor: str, *, skip: int = 0, first: int | None = None
    ) -> FoundJobs:
        """Return up to ``limit`` jobs, and where to go on.

        :param skip: jobs to leave out first.
        :param first: rows of the first page of each list; by default as many as are wanted.
        :raises InvalidRequestError: not a cursor that this server gave out for these lists.
        """
        stops, place = self._ahead(cursor)
        found: list[JobRecord] = []
        examined = queries = size = 0
        for position, stop in enumerate(stops):
            for page in stop.pages(
                self.store,
                place=place,
                first=first or max(limit + skip, 1),
                newest_first=self.newest_first,
            ):
                queries += 1
                jobs = self.accepted(page.jobs) if page.jobs else {}
                for row in page.jobs:
                    examined += 1
                    job = jobs.get(row.id)
                    if job is not None and skip > 0:
                        skip -= 1
                    elif job is not None:
                        found.append(job)
                        size += job.document_bytes
                    if len(found) == limit or size >= self.max_bytes or examined >= MAX_EXAMINED:
                        is_last = row is page.jobs[-1]
                        here = page.cursor if is_last else self.store.place_of(row, stop.name)
                        return FoundJobs(tuple(found), _mark(stops, position, here), examined)
                if queries >= MAX_QUERIES:
                    return FoundJobs(tuple(found), _mark(stops, position, page.cursor), examined)
            place = ""
        return FoundJobs(tuple(found), "", examined)

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


def _mark(stops: Sequence[ListStop], position: int, place: str) -> str:
    """Return the cursor after a place, or of the next list where this one has ended."""
    if not place:
        position += 1
    if position >= len(stops):
        return ""
    return f"{stops[position].queue}!{stops[position].label}{place}"
