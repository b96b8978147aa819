"""Reads stored jobs: their items, and the documents stored elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string, unpacked
from ojs_aws.adapters.dynamodb.jobs.blobs import ITEM, Blobs, DocumentRef
from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.jobs.lists import Lists
from ojs_aws.adapters.dynamodb.jobs.writes import job_key
from ojs_aws.adapters.dynamodb.limits import bucket_key, read_bucket
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import Document, JobRecord, StoredElsewhere
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits.rules import Bucket
from ojs_aws.domain.runtime import IN_ORDER

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobReads(Lists):
    """Implements the part of the port JobStore that reads jobs, always consistently."""

    blobs: Blobs

    def load(self, job_id: str) -> JobRecord | None:
        """Read a job, strongly consistent, without documents that are stored elsewhere.

        Makes one consistent read of the hot item.
        """
        return self.load_item(job_key(job_id), from_item)

    def load_whole(self, job_id: str) -> JobRecord | None:
        """Read a job with all its documents, strongly consistent, in one call (two with S3).

        Runs one consistent query of everything the job has in the table.

        Backwards, so that the hot item comes first: a page ends at a megabyte, and large results
        that were refused stay in the partition. A document beyond the page is read by itself.
        """
        values = {"pk": string(n.job_pk(job_id))}
        answer = self.query("#pk = :pk", values, ConsistentRead=True, ScanIndexForward=False)
        items = {read_string(item, n.SK): item for item in answer["Items"]}
        if n.JOB_SK not in items:
            return None
        job = from_item(items[n.JOB_SK])

        def found(document: StoredElsewhere) -> RawJson | None:
            item = items.get(n.blob_sk(document.digest))
            return None if item is None else RawJson(unpacked(item[n.DOCUMENT]))

        return self._filled(job, found)

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Read up to 100 jobs like :meth:`load`; absent ones are left out.

        Makes one batch read per hundred jobs.
        """
        wanted = [job_key(job_id) for job_id in dict.fromkeys(job_ids)]
        return {job.id: job for job in map(from_item, self.get_items(wanted))}

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, dict[str, Bucket]]:
        """Read a job and the buckets of some limits in one call, strongly consistent.

        Makes one batch read.

        :returns: the job, and the buckets by key; those that do not exist yet are empty.
        """
        wanted: list[Item] = [job_key(job_id), *map(bucket_key, keys)]
        job, buckets = None, {key: Bucket(key=key) for key in keys}
        for item in self.get_items(wanted):
            if read_string(item, n.SK) == n.JOB_SK:
                job = from_item(item)
            else:
                bucket = read_bucket(item)
                buckets[bucket.key] = bucket
        return job, buckets

    def fill(self, job: JobRecord) -> JobRecord:
        """Return the job with the documents that are stored elsewhere; no call if it has none.

        Makes one read for each document that is stored elsewhere.
        """
        return self._filled(job, lambda _: None)

    def fill_many(self, jobs: Sequence[JobRecord]) -> list[JobRecord | OjsError]:
        """Return jobs with their documents, in their order, in few calls.

        Makes one batch read for documents in the table, and one read for each in S3.

        :returns: instead of a job the error for which its documents cannot be read.
        """
        refs = [
            (job.id, document)
            for job in jobs
            for document in documents_of(job)
            if isinstance(document, StoredElsewhere)
        ]
        in_table = [ref for ref in refs if ref[1].storage == ITEM]
        texts = self._batch(in_table) if len(in_table) > 1 else {}

        def fill(job: JobRecord) -> JobRecord | OjsError:
            try:
                return self._filled(job, lambda document: texts.get((job.id, document)))
            except OjsError as problem:
                return problem

        is_spread = sum(ref not in texts for ref in refs) > 1
        return list((self.blobs.parallel if is_spread else IN_ORDER).each(fill, jobs))

    def _batch(self, refs: Sequence[DocumentRef]) -> dict[DocumentRef, RawJson]:
        """Read documents together; what cannot be read so is read one by one."""
        try:
            return self.blobs.get_all(refs)
        except OjsError:
            _logger.warning("Documents could not be read together", exc_info=True)
            return {}

    def _filled(
        self, job: JobRecord, found: Callable[[StoredElsewhere], RawJson | None]
    ) -> JobRecord:
        """Return the job with its documents.

        :param found: returns a document that has been read already.
        """

        def text_of(document: Document) -> RawJson:
            if not isinstance(document, StoredElsewhere):
                return document
            return found(document) or self.blobs.get(job.id, document)

        if job.is_whole:
            return job
        saved = job.checkpoint
        return replace(
            job,
            document=text_of(job.document),
            result=None if job.result is None else text_of(job.result),
            checkpoint=None if saved is None else replace(saved, state=text_of(saved.state)),
        )


def documents_of(job: JobRecord) -> tuple[Document | None, ...]:
    """Return a job's envelope, its result, and the state of its checkpoint."""
    return job.document, job.result, job.checkpoint.state if job.checkpoint else None
