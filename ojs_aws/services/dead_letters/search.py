"""Finds dead letters in bounded steps; retries or deletes many (ojs-dead-letter, 6.2 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import check_job_id, check_queue, check_type, field_error
from ojs_aws.domain.credentials import Actor
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.lists import Between, JobList, ListedJob, ListTotal
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
)
from ojs_aws.services.jobs.job_lists import END, NOBODY_COUNTED, ListCounts, Part, check_range
from ojs_aws.services.jobs.list_walk import FoundJobs, ListWalk
from ojs_aws.services.stored_jobs import PAGE, ListStop

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry

MAX_BYTES: Final = 3_000_000
"""Documents of one page, and one more: Lambda answers with 6 MB at most."""

MAX_ERROR_TYPE: Final = 256

_DISCARDED: Final = frozenset({JobState.DISCARDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """Selects dead letters (ojs-dead-letter, section 9.1); empty members match all.

    :ivar error_type: type, code or class of the latest failure.
    :ivar since: discarded at this instant or later.
    :ivar until: discarded at this instant or earlier.
    :ivar as_of: dead letters since this instant or earlier; of a dry run.
    :ivar view: what the caller may see of them.
    """

    queue: str = ""
    type: str = ""
    error_type: str = ""
    since: Instant | None = None
    until: Instant | None = None
    as_of: Instant | None = None
    view: View = field(default=UNBOUND, compare=False)

    def __post_init__(self) -> None:
        """Refuse a filter that can match nothing.

        :raises InvalidRequestError: a bad queue name, type, error type or range.
        """
        if self.queue:
            check_queue(self.queue)
        if self.type:
            check_type(self.type)
        if len(self.error_type) > MAX_ERROR_TYPE:
            message = f"The 'error_type' attribute has more than {MAX_ERROR_TYPE} characters."
            raise field_error("error_type", message, max_length=MAX_ERROR_TYPE)
        check_range(self.since, self.until)
        check_range(self.since, self.as_of, "as_of")

    @property
    def between(self) -> Between | None:
        """Return the time range, if there is one."""
        ends = [instant for instant in (self.until, self.as_of) if instant is not None]
        if self.since is None and not ends:
            return None
        return Between(self.since or Instant(0), min(ends, default=END))

    @property
    def is_by_row(self) -> bool:
        """Return whether the index alone decides what matches, so that rows count as jobs."""
        return not (self.type or self.error_type or self.view.types or self.view.tenant)

    def accepts_row(self, queue: str, job_type: str) -> bool:
        """Return whether jobs of a queue and a type may match."""
        return self.view.shows_row(queue, job_type) and self.type in ("", job_type)

    def accepts(self, job: JobRecord) -> bool:
        """Return whether a job matches, apart from its queue and its time."""
        failure = job.failures[-1] if job.failures else None
        names = {failure.type, failure.code, failure.error_class} if failure else set()
        return (
            job.is_dead_letter
            and self.view.shows_job(job)
            and self.type in ("", job.type)
            and (not self.error_type or self.error_type in names)
            and (self.as_of is None or deadlines.last_change(job) <= self.as_of)
        )


@dataclass(frozen=True, slots=True)
class DeadLetterMatcher:
    """Finds the wanted dead letters among rows."""

    store: JobStore
    wanted: DeadLetterFilter
    unread: str = ""

    @property
    def rows_decide(self) -> bool:
        """Return whether the index alone decides what matches."""
        return self.wanted.is_by_row

    def __call__(self, rows: Sequence[ListedJob]) -> dict[str, JobRecord]:
        """Return the matching jobs of some rows, by id: one read."""
        ids = [row.id for row in rows if self.may_match(row)]
        jobs = self.store.load_many(ids) if ids else {}
        return {job_id: job for job_id, job in jobs.items() if self.wanted.accepts(job)}

    def may_match(self, row: ListedJob) -> bool:
        """Return whether a dead letter of this queue and type may match."""
        return self.wanted.accepts_row(row.queue, row.type)


@dataclass(frozen=True, slots=True)
class DeadLetterSearch:
    """Searches the dead letters of one queue, or of all by name; newest first within each."""

    store: JobStore
    queues: QueueRegistry
    counts: ListCounts

    def names(self, wanted: DeadLetterFilter) -> list[str]:
        """Return the queues to search."""
        names = [wanted.queue] if wanted.queue else [info.name for info in self.queues.all()]
        return [name for name in names if wanted.view.shows_row(name)]

    def find(self, wanted: DeadLetterFilter, limit: int, cursor: str) -> FoundJobs:
        """Return up to ``limit`` matching dead letters.

        Ends earlier where the documents grow large, or where few of very many rows match.

        :raises InvalidRequestError: not a cursor that this server gave out.
        """
        return self._walk(wanted, self.names(wanted)).find(limit, cursor, first=_first(wanted))

    def page(
        self, wanted: DeadLetterFilter, limit: int, cursor: str, skip: int = 0
    ) -> tuple[FoundJobs, ListTotal]:
        """Return what :meth:`find` does, and how many match in all.

        :param skip: dead letters to leave out first.
        :raises InvalidRequestError: not a cursor that this server gave out.
        """
        names = self.names(wanted)
        walk = self._walk(wanted, names)
        return walk.page(
            limit, cursor, lambda: self._count(wanted, names), skip=skip, first=_first(wanted)
        )

    def _count(self, wanted: DeadLetterFilter, names: Sequence[str]) -> ListTotal:
        if not wanted.is_by_row:
            return NOBODY_COUNTED
        between = wanted.between
        counters = () if between else (JobList.DEAD_LETTER.value,)
        return self.counts.total(names, [Part(JobList.DEAD_LETTER, between)], counters)

    def _walk(self, wanted: DeadLetterFilter, names: Sequence[str]) -> ListWalk:
        return ListWalk(
            store=self.store,
            stops=[ListStop(name, JobList.DEAD_LETTER, wanted.between) for name in names],
            matcher=DeadLetterMatcher(self.store, wanted),
            queue=wanted.queue,
            shows=wanted.view.shows_row if wanted.view.types else None,
            is_by_job=bool(wanted.view.tenant),
            max_bytes=MAX_BYTES,
        )


def _first(wanted: DeadLetterFilter) -> int | None:
    """Return how many rows the first page of each list has; None for as many as are wanted."""
    return PAGE if wanted.error_type else None


@dataclass(frozen=True, slots=True)
class DeadLetterBulk:
    """Retries or deletes the dead letters of a filter, or the named ones."""

    engine: BulkEngine
    rows: DeadLetterSearch

    def __call__(
        self,
        action: BulkAction,
        chosen: DeadLetterFilter | Sequence[str],
        limit: int = MAX_BULK,
        cursor: str = "",
        *,
        view: View = UNBOUND,
        as_of: Instant | None = None,
        by: Actor | None = None,
    ) -> BulkReport:
        """Change the dead letters of a filter, or the named ones.

        :param view: what the caller may see; a named job beyond it is not found.
        :param as_of: only jobs that were discarded by then, as a dry run counted them.
        :param by: who does it.
        :raises InvalidRequestError: too many ids, a bad id, limit or cursor.
        """
        check_limit(limit)
        if isinstance(chosen, DeadLetterFilter):
            page = self.rows.find(replace(chosen, as_of=as_of), limit, cursor)
            jobs = {job.id: job for job in page.jobs}
            outcomes = self.engine.change(action, _DISCARDED, jobs, as_of=as_of, by=by)
            return BulkReport(outcomes, page.cursor)
        ids, named = self._named(chosen, view)
        return _named_report(self.engine.change(action, _DISCARDED, named, ids, as_of=as_of, by=by))

    def preview(
        self,
        action: BulkAction,
        chosen: DeadLetterFilter | Sequence[str],
        limit: int,
        cursor: str,
        *,
        view: View,
        as_of: Instant,
    ) -> BulkReport:
        """Say what would be changed, and change nothing; parameters as of a change.

        :param limit: up to a thousand dead letters of a filter.
        :raises InvalidRequestError: too many ids, a bad id, limit or cursor.
        """
        check_limit(limit, MAX_DRY)
        if isinstance(chosen, DeadLetterFilter):
            page = self.rows.find(replace(chosen, as_of=as_of), limit, cursor)
            found = tuple(BulkOutcome(job.id, BulkStatus.DONE) for job in page.jobs)
            return BulkReport(found, page.cursor)
        ids, named = self._named(chosen, view)
        return _named_report(self.engine.preview(action, _DISCARDED, named, ids, as_of))

    def _named(self, chosen: Sequence[str], view: View) -> tuple[list[str], dict[str, JobRecord]]:
        """Return the ids, checked, and those of their jobs that the caller may see."""
        ids = _checked(chosen)
        loaded = self.engine.changer.store.load_many(ids) if ids else {}
        return ids, {each: job for each, job in loaded.items() if view.shows_job(job)}


def _named_report(outcomes: Sequence[BulkOutcome]) -> BulkReport:
    """Return the report about named jobs; one that the caller may not see does not exist."""
    return BulkReport(
        tuple(
            replace(each, reason="There is no such job.")
            if each.status is BulkStatus.NOT_FOUND
            else each
            for each in outcomes
        )
    )


def _checked(job_ids: Sequence[str]) -> list[str]:
    ids = list(dict.fromkeys(check_job_id(job_id) for job_id in job_ids))
    if len(ids) > MAX_BULK:
        message = f"The 'ids' attribute names at most {MAX_BULK} jobs; received {len(ids)}."
        raise field_error("ids", message, received=len(ids), max_items=MAX_BULK)
    return ids
