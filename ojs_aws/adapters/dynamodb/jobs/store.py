"""Stores jobs: every write is one conditional write or one transaction.

The modules beside this one read jobs (`reads`) and store new ones (`inserts`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, string
from ojs_aws.adapters.dynamodb.jobs.codec import from_item, to_item
from ojs_aws.adapters.dynamodb.jobs.completed_list import CompletedList
from ojs_aws.adapters.dynamodb.jobs.inserts import JobInserts, life_of
from ojs_aws.adapters.dynamodb.jobs.reads import documents_of, job_key
from ojs_aws.adapters.dynamodb.jobs.transitions import claiming, completing, extending
from ojs_aws.adapters.dynamodb.limits import releasing, taking
from ojs_aws.adapters.dynamodb.table import condition
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.job import Document, JobRecord, Reservation, StoredElsewhere
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.held_job import Extension, Holder, attempt_of
from ojs_aws.domain.jobs.lists import ListedJob
from ojs_aws.domain.jobs.outcomes import NOTHING_LEFT, LeftToStream
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.limits import Bucket
from ojs_aws.domain.timestamps import Instant

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobStore(JobInserts):
    """Stores jobs. Each write is one conditional write (or one transaction), atomic.

    A write that took effect although its answer was lost is recognised when it is repeated, and
    answered as the success it was.
    """

    def save(self, before: JobRecord, after: JobRecord) -> JobRecord:
        """Replace one version of a job by the next.

        Makes one update of the attributes that differ. The update fails if the stored version is
        not ``before``. If the job gives back slots in buckets, a transaction does both.

        :returns: the next version, with the token of this write.
        :raises StaleJobError: the stored job is no longer ``before``.
        """
        update, slots = self.change(before, after), sorted(slots_left(before, after))
        token = self.writes.token()
        if slots:
            parts = [releasing(self.table, key) for key in slots]
            self.writes.send_with(before.id, update, parts, token)
        else:
            self.writes.send(before.id, update, "NONE", token)
        return replace(after, token=token)

    def change(self, before: JobRecord, after: JobRecord) -> Update:
        """Return the update that makes one version of a job the next."""
        old, new = self._hot_item(before), self._hot_item(after, before.document)
        update = Update()
        for name, value in new.items():
            if old.get(name) != value:
                update.set(name, value)
        update.remove(*(name for name in old if name not in new))
        _be_as_read(update, before)
        return update

    def _hot_item(self, job: JobRecord, known: Document | None = None) -> Item:
        """Return the item of a job, with a pointer in place of each large document.

        :param known: the job's document as it is stored. If it is a pointer, the item keeps this
            pointer: an update stores no other large document.
        """
        placed, _ = self.blobs.placed_envelope(job.document, life_of(job))
        if isinstance(placed, StoredElsewhere) and isinstance(known, StoredElsewhere):
            placed = placed if placed is job.document else known
        result = None if job.result is None else self.blobs.placed(job.result)[0]
        saved = job.checkpoint
        if saved is not None:
            saved = replace(saved, state=self.blobs.placed(saved.state)[0])
        whole = replace(job, document=placed, result=result, checkpoint=saved)
        return to_item(whole, self.retention)

    def claim(
        self,
        queue: str,
        job_id: str,
        reservation: Reservation,
        now: Instant,
        sort_key: str = "",
        shard: int = 0,
    ) -> JobRecord:
        """Move an available, unexpired job to active, and count the attempt, without reading it.

        Makes one update, whatever the version of the job.

        :param queue: the queue that the job must be in.
        :param sort_key: the key that it must have in the ready list; empty for any.
        :param shard: the line of the job, which the caller knows from its row or message.
        :returns: the claimed job, documents kept elsewhere not filled in.
        :raises StaleJobError: it is not available, has another sort key, or has expired.
        """
        update = claiming(queue, job_id, reservation, now, shard)
        if sort_key:
            update.when(f"{update.name(n.GSK)} = {update.value(string(sort_key))}")
        return from_item(self.writes.send(job_id, update, returning="ALL_NEW"))

    def claim_within(
        self,
        job: JobRecord,
        reservation: Reservation,
        takes: Sequence[tuple[Bucket, Bucket]],
        now: Instant,
    ) -> JobRecord:
        """Claim a job like :meth:`claim`, and take its slots in the same transaction.

        Makes one transaction: the job, and a slot in each bucket.

        :param takes: each bucket before and after.
        :raises StaleJobError: the job is no longer what was read.
        :raises BucketTakenError: somebody else took a slot meanwhile; nothing was written.
        """
        update = claiming(job.queue, job.id, reservation, now, job.shard)
        _be_as_read(update, job)
        token = self.writes.token()
        parts = [taking(self.table, *take, job.id, now) for take in takes]
        self.writes.send_with(job.id, update, parts, token)
        return replace(lifecycle.claim(job, reservation, now), token=token)

    def acknowledge(
        self,
        job_id: str,
        holder: Holder,
        result: Document | None,
        now: Instant,
        leaves: LeftToStream = NOTHING_LEFT,
    ) -> JobRecord:
        """Move an active job in time to completed, without reading it.

        Makes one update, whatever the version of the job. The update fails if the job has slots in
        buckets. Then a transaction completes the job and gives the slots back.

        :param holder: the worker and the attempt that the job must have. A reservation without the
            name of a worker accepts every worker.
        :param leaves: what is left to the consumer of the stream: to delete the job's message, or
            to list the job (:meth:`list_completed`).
        :returns: the job as it was before, with its reservation.
        :raises StaleJobError: the job is not active, not the worker's, not at this attempt, or
            overdue; or its own settings do not let it keep this result.
        """
        update = completing(holder, result, now, self.retention, leaves)
        update.when(f"attribute_not_exists({update.name(n.SLOTS)})")
        try:
            return from_item(self.writes.send(job_id, update, returning="ALL_OLD"))
        except StaleJobError as stale:
            held = stale.current
            if held is None or not _slots(held) or not holder.which.is_running(held):
                raise
        # The write must meet the same reservation. A heartbeat in between leaves it as it is, but
        # another worker that takes the job over has another one.
        running = Holder(holder.worker_id, attempt_of(held))
        update = completing(running, result, now, self.retention, leaves)
        update.remove(n.SLOTS)
        parts = [releasing(self.table, key) for key in sorted(_slots(held))]
        return self.writes.send_with(job_id, update, parts) or held

    def list_completed(self, jobs: Sequence[JobRecord]) -> None:
        """Add completed jobs to the lists of their queues, where :meth:`acknowledge` left that.

        Puts one item for up to 36 jobs of a queue. You may repeat it with the same jobs. A job that
        comes again together with other jobs may be listed twice.
        """
        CompletedList(self.client, self.table).add(jobs)

    def unlist(self, rows: Sequence[ListedJob]) -> None:
        """Remove the rows of deleted jobs from the lists, so that nobody looks for these jobs.

        Deletes the items that list these jobs alone. A row that shares its item with other jobs
        stays.
        """
        CompletedList(self.client, self.table).forget(rows)

    def extend(self, job_id: str, asked: Extension) -> JobRecord:
        """Let the worker of an active job count as alive for longer, without reading the job.

        Makes one update, whatever the job's version; mostly it changes no key of the index.

        :returns: the job after it, documents kept elsewhere not filled in.
        :raises StaleJobError: what is asked for cannot be granted without a read.
        """
        return from_item(self.writes.send(job_id, extending(asked), returning="ALL_NEW"))

    def delete(self, job: JobRecord) -> None:
        """Remove a job and its documents.

        Makes one conditional delete, and one for each document kept elsewhere.

        :raises StaleJobError: the stored job is no longer this one.
        """
        try:
            self.delete_item(job_key(job.id), _as_read(job))
        except ConditionFailedError as failed:
            if failed.item:
                raise StaleJobError(from_item(failed.item)) from None
        try:
            self.forget_documents(job)
        except OjsError:  # the job is gone; the stream's consumer removes them
            _logger.warning("Could not remove the documents of job %s", job.id, exc_info=True)

    # ------------------------------------------------------------------ documents
    def fits_inline(self, result: RawJson) -> bool:
        """Return whether a document is small enough, once compressed, to stay in its job's item.

        Then :meth:`keep_result` makes no call.
        """
        return isinstance(self.blobs.placed(result)[0], str)

    def keep_result(self, job_id: str, result: RawJson) -> Document:
        """Store a result before :meth:`acknowledge`.

        Makes no call for a small result, and one put for a large one.
        """
        return self._kept(job_id, result)

    def keep_checkpoint(self, job_id: str, state: RawJson) -> Document:
        """Store a checkpoint before :meth:`save`.

        Makes no call for a small one, and one put for a large one. The put uses a new name, so that
        it does not overwrite the checkpoint before, which is removed later.
        """
        return self._kept(job_id, state, self.writes.token())

    def _kept(self, job_id: str, text: RawJson, life: str = "") -> Document:
        placed, elsewhere = self.blobs.placed(text, life)
        if isinstance(placed, StoredElsewhere) and elsewhere:
            self.blobs.keep(job_id, placed, elsewhere)
        return placed

    def forget_documents(self, job: JobRecord) -> None:
        """Remove the documents that a deleted job stored elsewhere; may be repeated.

        Makes one delete for each document kept elsewhere.
        """
        for document in documents_of(job):
            if isinstance(document, StoredElsewhere):
                self.blobs.delete(job.id, document)

    def forget_document(self, job_id: str, document: Document) -> None:
        """Remove a document that its job no longer names; may be repeated.

        Makes one delete if it is stored elsewhere.
        """
        if isinstance(document, StoredElsewhere):
            self.blobs.delete(job_id, document)


def _be_as_read(update: Update, job: JobRecord) -> None:
    """Let the update fail if the item has changed since the job was read."""
    update.when(f"{update.name(n.VERSION)} = {update.value(number(job.version))}")
    if job.token:  # a job that was deleted and stored again counts its versions from 1 again
        update.when(f"{update.name(n.TOKEN)} = {update.value(string(job.token))}")


def _as_read(job: JobRecord) -> dict[str, Any]:
    """Return the condition of :func:`_be_as_read` for a write that is no update."""
    if not job.token:
        return condition("#v = :v", v=number(job.version))
    return condition("#v = :v AND #tk = :tk", v=number(job.version), tk=string(job.token))


def _slots(job: JobRecord) -> frozenset[str]:
    """Return the keys of the buckets in which a job has a slot."""
    return frozenset(job.reservation.slots) if job.reservation else frozenset()


def slots_left(before: JobRecord, after: JobRecord) -> frozenset[str]:
    """Return the keys of the buckets in which a job gives its slot back."""
    return _slots(before) - _slots(after)
