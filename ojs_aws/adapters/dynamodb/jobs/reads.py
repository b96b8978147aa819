"""Reads stored jobs: their items, and the documents stored elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.jobs.blobs import Blobs
from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.jobs.lists import Lists
from ojs_aws.adapters.dynamodb.jobs.writes import job_key
from ojs_aws.adapters.dynamodb.limits import bucket_key, read_bucket
from ojs_aws.adapters.dynamodb.values import Item, read_string, string, unpacked
from ojs_aws.domain.job import Document, JobRecord, StoredElsewhere
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits.rules import Bucket


@dataclass(frozen=True, slots=True)
class JobReads(Lists):
    """Implements the part of the port JobStore that reads jobs, always consistently."""

    blobs: Blobs

    def load(self, job_id: str) -> JobRecord | None:
        """Make one consistent read of the hot item."""
        return self.load_item(job_key(job_id), from_item)

    def load_whole(self, job_id: str) -> JobRecord | None:
        """Run one consistent query of everything the job has in the table.

        Backwards, so that the hot item comes first: a page ends at a megabyte, and large results
        that were refused stay in the partition. A document beyond the page is read by itself.
        """
        values = {"pk": string(n.job_pk(job_id))}
        answer = self.query("#pk = :pk", values, ConsistentRead=True, ScanIndexForward=False)
        items = {read_string(item, n.SK): item for item in answer["Items"]}
        if n.JOB_SK not in items:
            return None
        job = from_item(items[n.JOB_SK])
        return self._filled(job, items)

    def load_many(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Make one batch read per hundred jobs."""
        wanted = [job_key(job_id) for job_id in dict.fromkeys(job_ids)]
        return {job.id: job for job in map(from_item, self.get_items(wanted))}

    def load_with_buckets(
        self, job_id: str, keys: Sequence[str]
    ) -> tuple[JobRecord | None, dict[str, Bucket]]:
        """Make one batch read."""
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
        """Make one read for each document that is stored elsewhere."""
        return self._filled(job, {})

    def _filled(self, job: JobRecord, items: dict[str, Item]) -> JobRecord:
        def text_of(document: Document) -> RawJson:
            if not isinstance(document, StoredElsewhere):
                return document
            item = items.get(n.blob_sk(document.digest))
            if item is not None:
                return RawJson(unpacked(item[n.DOCUMENT]))
            return self.blobs.get(job.id, document)

        if job.is_whole:
            return job
        saved = job.checkpoint
        return replace(
            job,
            document=text_of(job.document),
            result=None if job.result is None else text_of(job.result),
            checkpoint=None if saved is None else replace(saved, state=text_of(saved.state)),
        )
