"""Reads the jobs of some rows and keeps those that match a filter, within a bound of bytes.

The index knows queue, state, type and time. Whatever else a filter names, such as a tag or the text
of an error, is compared job by job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ojs_aws.domain.errors import DocumentMissingError, OjsError
from ojs_aws.domain.job import JobRecord, StoredElsewhere, size_of
from ojs_aws.domain.jobs import deadlines
from ojs_aws.domain.timestamps import Instant
from ojs_aws.ports import JobStore, ListedJob
from ojs_aws.services.jobs.filter import JobFilter

MAX_READ_BYTES: Final = 8_000_000
"""Bytes of jobs that one search reads; it always reads one job."""

LEAST_DOCUMENT: Final = 16_000
"""Bytes that a document counts for that has to be read by itself: the call takes time, too."""


@dataclass(slots=True)
class JobSift:
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
