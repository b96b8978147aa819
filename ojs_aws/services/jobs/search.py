"""Finds jobs by what a filter names, in bounded steps (ojs-admin-api, section 7.1).

The index knows queue, state, type and time. Whatever else a filter names, such as a tag or the text
of an error, is compared job by job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import DocumentMissingError, OjsError
from ojs_aws.domain.job import JobRecord, JobState, StoredElsewhere, size_of
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.jobs.lists import ListedJob, ListTotal
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.job_lists import NOBODY_COUNTED, JobFilter, ListCounts
from ojs_aws.services.jobs.list_walk import FoundJobs, ListWalk
from ojs_aws.services.stored_jobs import ListStop

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry

MAX_READ_BYTES: Final = 8_000_000
"""Bytes of jobs that one search reads; it always reads one job."""
LEAST_DOCUMENT: Final = 16_000
"""Bytes that a document counts for that has to be read by itself: the call takes time, too."""


@dataclass(slots=True)
class JobMatcher:
    """Finds the jobs that match among the rows of one search.

    :ivar unread: the first row that there were no bytes left for; empty for none.
    :ivar read_bytes: how much was read so far.
    """

    store: JobStore
    wanted: JobFilter
    now: Instant
    unread: str = ""
    read_bytes: int = 0

    def __call__(self, rows: Sequence[ListedJob]) -> dict[str, JobRecord]:
        """Return the matching jobs among some rows, by id: one read for all, and maybe documents.

        The jobs are as they are stored, without their documents.
        """
        wanted = [row.id for row in rows if self.may_match(row)]
        ids = list(dict.fromkeys(wanted))  # two rows may list one completed job
        jobs = self.store.load_many(ids) if ids else {}
        found = {}
        for job_id in ids:
            if self.read_bytes >= MAX_READ_BYTES:
                self.unread = job_id
                break
            if (job := jobs.get(job_id)) is None:
                continue
            self.read_bytes += _bytes_of(job)
            if self.wanted.accepts(deadlines.settle(job, self.now)):
                found[job_id] = job
                self.read_bytes += self._bytes_elsewhere(job)
        return self._with_tag(found) if self.wanted.tag else found

    @property
    def rows_decide(self) -> bool:
        """Return whether the filter names nothing but lists."""
        return self.wanted.is_by_list

    def may_match(self, row: ListedJob) -> bool:
        """Return whether a job of this queue and type may match."""
        return self.wanted.accepts_row(row.queue, row.type)

    def _bytes_elsewhere(self, job: JobRecord) -> int:
        """Return the size of the document that has to be read to know the tags."""
        if not self.wanted.tag or isinstance(job.document, str):
            return 0
        return max(size_of(job.document), LEAST_DOCUMENT)

    def _with_tag(self, jobs: dict[str, JobRecord]) -> dict[str, JobRecord]:
        """Return the jobs that have the tag.

        :raises OjsError: a document cannot be read.
        """
        # The tags are in the client's document; results and checkpoints stay where they are.
        bare = [replace(job, result=None, checkpoint=None) for job in jobs.values()]
        away = [job for job in bare if isinstance(job.document, StoredElsewhere)]
        whole = {job.id: job for job in bare if isinstance(job.document, str)}
        for filled in self.store.fill_many(away) if away else ():
            if isinstance(filled, DocumentMissingError):
                continue  # the job was deleted meanwhile
            if isinstance(filled, OjsError):
                raise filled
            whole[filled.id] = filled
        return {
            job_id: job
            for job_id, job in jobs.items()
            if job_id in whole and self.wanted.accepts_document(str(whole[job_id].document))
        }


def _bytes_of(job: JobRecord) -> int:
    """Return about how much was read of a job: its documents inside the item, and its errors."""
    saved = job.checkpoint.state if job.checkpoint else None
    inside = [part for part in (job.document, job.result, saved) if isinstance(part, str)]
    failed = [
        len(each.message) + sum(map(len, each.backtrace)) + sum(map(len, each.extra.values()))
        for each in (*job.failures, *job.past_failures)
    ]
    return sum(map(size_of, inside)) + sum(failed)


@dataclass(frozen=True, slots=True)
class JobSearch:
    """Searches the lists of one queue, or of all queues by name."""

    store: JobStore
    queues: QueueRegistry
    clock: Clock
    counts: ListCounts

    def find(self, wanted: JobFilter, limit: int, cursor: str = "") -> FoundJobs:
        """Return up to ``limit`` matching jobs, queue by queue and list by list.

        A job matches by its state as of now, also where time has decided and nobody has written
        it yet. One that changes its list meanwhile may be missed or found twice.

        :raises InvalidRequestError: not a cursor that this server gave out for such a filter.
        """
        names, now = self._names(wanted), self.clock.now()
        return self._walk(wanted, names, now, newest_first=True).find(limit, cursor)

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
        :param newest_first: the order within a list; False begins with who would be next.
        :raises InvalidRequestError: not a cursor that this server gave out for such a filter.
        """
        names, now = self._names(wanted), self.clock.now()
        walk = self._walk(wanted, names, now, newest_first=newest_first)
        return walk.page(limit, cursor, lambda: self._count(wanted, names, now), skip=skip)

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
            matcher=JobMatcher(self.store, wanted, now),
            queue=wanted.queue,
            shows=wanted.view.shows_row if wanted.view.types else None,
            is_by_job=bool(wanted.view.tenant),
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
        return [name for name in names if wanted.view.shows_row(name)]
