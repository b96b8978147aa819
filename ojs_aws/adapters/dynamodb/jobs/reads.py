"""Reads stored jobs and sends their changes, so that repeated tries take effect once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, read_string, string, unpacked
from ojs_aws.adapters.dynamodb.jobs.blobs import ITEM, Blobs, DocumentRef
from ojs_aws.adapters.dynamodb.jobs.codec import from_item
from ojs_aws.adapters.dynamodb.jobs.lists import Lists
from ojs_aws.adapters.dynamodb.limits import bucket_key, read_bucket
from ojs_aws.adapters.dynamodb.table import Action, InTable, any_failed, item_key, update_part
from ojs_aws.adapters.dynamodb.update import (
    CONDITION_CODE,
    ConditionFailedError,
    Update,
    conditional,
)
from ojs_aws.domain.conflicts import BucketTakenError, StaleJobError
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import Document, JobRecord, StoredElsewhere
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.runtime import IN_ORDER

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobWrites(InTable):
    """Sends updates of jobs' items.

    :ivar token: makes the token of a write; a write that finds its own token took effect before.
    """

    token: Callable[[], str]

    def send(self, job_id: str, update: Update, returning: Any, token: str = "") -> Item:
        """Send an update; if it finds its own token, it had already taken effect.

        :param token: from :attr:`token`; empty for a new one.
        :returns: the item that was asked for; after a lost answer, the item as it is now.
        """
        own = string(token or self.token())
        update.set(n.TOKEN, own)
        try:
            with conditional("UpdateItem"):  # as straight as can be: each job takes this way
                answer = self.client.update_item(
                    TableName=self.table,
                    Key=job_key(job_id),
                    ReturnValues=returning,
                    **update.arguments(),
                )
        except ConditionFailedError as failed:
            if failed.is_own({n.TOKEN: own}):
                return failed.item
            raise StaleJobError(from_item(failed.item) if failed.item else None) from None
        return answer.get("Attributes", {})

    def send_with(
        self, job_id: str, update: Update, parts: Sequence[Action], token: str = ""
    ) -> JobRecord | None:
        """Send an update in a transaction with changes of buckets.

        :param token: from :attr:`token`; empty for a new one.
        :returns: the job as it is now, when the transaction had taken effect before; else None.
        :raises BucketTakenError: a bucket is no longer what it was.
        """
        token = token or self.token()
        update.set(n.TOKEN, string(token))
        part = update_part(self.table, job_key(job_id), update)
        reasons = self.transact_write_items([part, *parts], any_failed)
        if not reasons:
            return None
        code, failed = reasons[0]
        if code != CONDITION_CODE:
            raise BucketTakenError
        if failed and read_string(failed, n.TOKEN) == token:
            return from_item(failed)
        raise StaleJobError(from_item(failed) if failed else None)


def job_key(job_id: str) -> Item:
    """Return the key of a job's item."""
    return item_key(n.job_pk(job_id), n.JOB_SK)


@dataclass(frozen=True, slots=True)
class JobReads(Lists):
    """Reads jobs, always consistently, as a part of the job store."""

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
