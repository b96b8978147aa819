"""Walks lists of jobs, queue by queue and list by list, in bounded steps.

The index has one list for each queue and state, and no other order. So a search walks the lists
that can hold the wanted jobs, and reads the jobs of each page in one call. It looks at a bounded
number of rows, and returns a cursor from which the next request goes on. It never scans the table,
and sorts nothing across lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ojs_aws.domain.attributes import check_queue
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.lists import ListedJob, ListTotal, Page, shown_total
from ojs_aws.services.stored_jobs import PAGE, ListStop

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore

LOOK_AHEAD: Final = 10
"""Rows of each further list that a walk reads to know whether anything follows a full page."""

MAX_EXAMINED: Final = 1000
"""Rows that one walk looks at."""

MAX_SIFTED: Final = 5000
"""Rows that one walk looks at where it passes rows of others: their jobs are not read."""

MAX_QUERIES: Final = 200
"""Queries of the index that one walk makes, empty lists included."""


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """Jobs as they are stored, without the documents kept elsewhere, and where to go on.

    :ivar cursor: empty when nothing is left; otherwise there may be more, even if ``jobs`` is
        empty.
    :ivar examined: rows that were looked at, without those that the caller may not see.
    :ivar is_followed: whether a job was read that matches and comes after these.
    """

    jobs: tuple[JobRecord, ...]
    cursor: str = ""
    examined: int = 0
    is_followed: bool = False


Jobs: TypeAlias = Mapping[str, JobRecord]
"""Jobs by their ids."""


class Matcher(Protocol):
    """Finds the wanted jobs among rows."""

    @property
    def unread(self) -> str:
        """Return the id of the first row that the last call did not look at; empty for none."""

    @property
    def rows_decide(self) -> bool:
        """Return whether a row alone decides if its job is wanted, unless it is out of date."""

    def __call__(self, rows: Sequence[ListedJob]) -> Jobs:
        """Read the jobs of some rows, and return those that are wanted, by id."""

    def may_match(self, row: ListedJob) -> bool:
        """Return whether the job of a row may be wanted; nothing is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWalk:
    """Finds jobs in some lists.

    :ivar queue: the only queue that a cursor may name; empty for any.
    :ivar max_bytes: a page ends where its documents grow beyond so many.
    :ivar shows: decides by queue and type whether the caller may see a job; None if it may see
        all. Cursors then name only jobs that the caller may see.
    :ivar is_by_job: the row does not say whether the caller may see its job, so the job is read.
        Cursors then name only jobs that were found.
    :ivar scope: what a cursor is valid for, in the message about a wrong one.
    """

    store: JobStore
    stops: Sequence[ListStop]
    matcher: Matcher
    queue: str = ""
    newest_first: bool = True
    max_bytes: float = float("inf")
    shows: Callable[[str, str], bool] | None = None
    is_by_job: bool = False
    scope: str = ""

    def find(
        self, limit: int, cursor: str, *, skip: int = 0, first: int | None = None
    ) -> FoundJobs:
        """Return up to ``limit`` jobs, and where to go on.

        A full page looks for one more job, so that its cursor leads to something. It reads no
        further page of its list for that. It skips empty lists, and its cursor stands behind them.

        :param skip: jobs to leave out first.
        :param first: rows of the first page of each list; by default as many as are wanted.
        :raises InvalidRequestError: this server did not give out the cursor for these lists, or
            the caller may see none of very many jobs.
        """
        stops, cursor = self._ahead(cursor)
        search = _Search(self, stops, limit, skip, first or limit + skip + 1)
        following: str | None = None
        for position, stop in enumerate(stops):
            for page in stop.pages(
                self.store, cursor=cursor, size=search.page_size, newest_first=self.newest_first
            ):
                following = search.look_at(position, page)
                if following is not None:
                    break
            if following is not None:
                break
            cursor = ""
        jobs = tuple(search.found)
        return FoundJobs(jobs, following or "", search.examined, search.is_followed)

    def page(
        self,
        limit: int,
        cursor: str,
        count: Callable[[], ListTotal],
        *,
        skip: int = 0,
        first: int | None = None,
    ) -> tuple[FoundJobs, ListTotal]:
        """Return what :meth:`find` does, and how many jobs match in all.

        :param count: counts them; called where the page itself does not show it.
        """
        found = self.find(limit, cursor, skip=skip, first=first)
        shown = shown_total(
            len(found.jobs),
            offset=skip,
            is_first=not cursor,
            has_more=bool(found.cursor),
            is_followed=found.is_followed,
        )
        return found, shown if shown.is_exact else shown.or_counted(count())

    def _ahead(self, cursor: str) -> tuple[Sequence[ListStop], str]:
        """Return the lists from the cursor on, and the cursor within the first of them."""
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
    """Collects the jobs of one walk, and counts what it costs.

    :ivar first: rows of the first page of each list, at most.
    :ivar behind: the cursor behind the last job that the caller may see, or list that ended; empty
        for none.
    :ivar passed: rows that were looked at, also those that the caller may not see.
    :ivar is_followed: whether another wanted job was read, beyond the limit.
    """

    walk: ListWalk
    stops: Sequence[ListStop]
    limit: int
    skip: int
    first: int
    found: list[JobRecord] = field(default_factory=list)
    examined: int = 0
    passed: int = 0
    queries: int = 0
    size: int = 0
    behind: str = ""
    is_followed: bool = False
    taken: set[str] = field(default_factory=set)

    @property
    def is_full(self) -> bool:
        """Return whether no further job is taken."""
        return len(self.found) >= self.limit or self.size >= self.walk.max_bytes

    def page_size(self, number: int) -> int:
        """Return how many rows to read next: where rows decide, one more than jobs are missing.

        The job of the additional row is not read, so a page of a hundred jobs costs one read.

        :param number: of the page within its list, from 0 on.
        """
        if self.is_full:
            return LOOK_AHEAD
        missing = self.limit + self.skip - len(self.found)
        if not self.walk.matcher.rows_decide or missing > PAGE:
            return PAGE if number else min(self.first, PAGE)
        return missing + 1 if missing == PAGE or not number else PAGE

    def look_at(self, position: int, page: Page) -> str | None:
        """Look at the rows of a page; return where to go on if the walk ends with it.

        :raises InvalidRequestError: too many jobs of others and none of the caller's.
        """
        self.queries += 1
        for row, jobs in self._read(page.jobs):
            if row.id == self.walk.matcher.unread or (self.is_full and self._follows(row, jobs)):
                return self.behind
            is_last = row is page.jobs[-1]
            of = self.stops[position].name
            here = page.cursor if is_last else self.walk.store.place_of(row, of)
            self.passed += 1
            if self._is_seen(row, jobs):
                self.examined += 1
                self.behind = _mark(self.stops, position, here)
            if jobs is not None and self._has_new(row, jobs):
                self._take(jobs[row.id])
            most = MAX_EXAMINED if self.walk.is_by_job else MAX_SIFTED
            if self.examined >= MAX_EXAMINED or self.passed >= most:
                return self._end()
        if not page.cursor:
            self.behind = _mark(self.stops, position, "")
        elif self.is_full:
            return self.behind
        return self._end() if self.queries >= MAX_QUERIES else None

    def _read(self, rows: Sequence[ListedJob]) -> Iterator[tuple[ListedJob, Jobs | None]]:
        """Yield each row with the wanted jobs of its part; None if the page was full before."""
        for at in range(0, len(rows), PAGE):
            part = rows[at : at + PAGE]
            jobs = None if self.is_full else self.walk.matcher(part)
            for row in part:
                yield row, jobs

    def _is_seen(self, row: ListedJob, jobs: Jobs | None) -> bool:
        """Return whether the caller may see the job of a row."""
        if self.walk.is_by_job:
            return jobs is not None and row.id in jobs
        return self.walk.shows is None or self.walk.shows(row.queue, row.type)

    def _has_new(self, row: ListedJob, jobs: Jobs) -> bool:
        """Return whether a row's job is wanted and new; two rows may list one completed job."""
        return row.id in jobs and row.id not in self.taken

    def _follows(self, row: ListedJob, jobs: Jobs | None) -> bool:
        """Return whether a row behind a full page may be of a wanted job."""
        if jobs is None:
            return self.walk.matcher.may_match(row)
        self.is_followed = self._has_new(row, jobs)
        return self.is_followed

    def _take(self, job: JobRecord) -> None:
        self.taken.add(job.id)
        if self.skip > 0:
            self.skip -= 1
        else:
            self.found.append(job)
            self.size += job.document_bytes

    def _end(self) -> str:
        """Return the cursor of a walk that has looked at as many rows as it may.

        :raises InvalidRequestError: the caller may see none of these jobs, so no cursor is allowed.
        """
        if not self.behind:
            raise InvalidRequestError(
                "None of the jobs that one request looks at may be seen by the caller.",
                details={"field": "queue", "max_examined": MAX_SIFTED},
                hint="Name a queue, a state or a time.",
            )
        return self.behind


def _mark(stops: Sequence[ListStop], position: int, cursor: str) -> str:
    """Return the cursor of the whole walk, or of the next list where this one has ended."""
    if not cursor:
        position += 1
    if position >= len(stops):
        return ""
    return f"{stops[position].queue}!{stops[position].label}{cursor}"
