"""Implements ACK: an active job becomes completed (core, section 7.3)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import ResultTooLargeError
from ojs_aws.domain.job import Document, JobRecord, JobState
from ojs_aws.domain.jobs import deadlines, lifecycle
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, AttemptRef, Holder, check_holder
from ojs_aws.domain.jobs.outcomes import LeftToStream, keeps_result
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.stored_jobs.change import JobChanger, found
from ojs_aws.services.stored_jobs.messages import JobMessages


@dataclass(frozen=True, slots=True)
class Ack:
    """Completes jobs: one conditional write, then the message is deleted.

    :ivar leaves_messages: whoever reads the table's stream deletes messages, many in one call.
    :ivar leaves_listings: and lists the completed jobs, many in one write.
    """

    changer: JobChanger
    job_messages: JobMessages
    max_result_bytes: int
    leaves_messages: bool = False
    leaves_listings: bool = False

    def __call__(
        self,
        job_id: str,
        worker_id: str | None,
        result: RawJson | None,
        *,
        which: AttemptRef = ANY_ATTEMPT,
        has_message: bool = True,
        wakes_next: bool = False,
    ) -> JobRecord:
        """Complete a job.

        :param worker_id: the worker that says so; None when it gave no name, and then the job's
            state alone decides.
        :param which: the attempt that has succeeded.
        :param result: JSON text of the result, or None for none.
        :param has_message: False when whoever invoked the worker deletes the message itself.
        :param wakes_next: send a message for those that wait for the slots of the job. Who polls
            needs none, except from a wide queue.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not active, not this worker's, another attempt of it is
            running, or its time was over.
        :raises ResultTooLargeError: the result is too large; the job stays active.
        """
        check_job_id(job_id)
        now, holder = self.changer.clock.now(), Holder(worker_id, which)
        leaves = LeftToStream(self.leaves_messages and has_message, self.leaves_listings)
        document = None if result is None else self._kept(job_id, holder, result, now)
        try:
            before, now = self._complete(job_id, holder, document, now, leaves)
        except StaleJobError as stale:
            job = self.changer.settled(found(stale.current, job_id), now)
            check_holder(job, "acknowledge", holder)
            now = max(now, deadlines.last_change(job))
            before, document = self._without_result(job, holder, result, now, leaves), None
        if before.state is JobState.COMPLETED:
            return before  # the answer to the write was lost, and its repetition found it done
        if has_message and not leaves.message:
            self.job_messages.delete_for(before)
        if wakes_next or (has_message and before.queue in self.job_messages.wide):
            self.job_messages.pass_on(before, now)
        return lifecycle.complete(before, document, now, leaves)

    def _complete(
        self,
        job_id: str,
        holder: Holder,
        document: Document | None,
        now: Instant,
        leaves: LeftToStream,
    ) -> tuple[JobRecord, Instant]:
        """Complete the job, never before it began: another process's clock may be ahead.

        :returns: the job as it was before, and when it ended.
        """
        try:
            return self._acknowledge(job_id, holder, document, now, leaves), now
        except StaleJobError as stale:
            began = deadlines.last_change(found(stale.current, job_id))
            if began <= now:
                raise
        return self._acknowledge(job_id, holder, document, began, leaves), began

    def _acknowledge(
        self,
        job_id: str,
        holder: Holder,
        result: Document | None,
        now: Instant,
        leaves: LeftToStream,
    ) -> JobRecord:
        return self.changer.store.acknowledge(job_id, holder, result, now, leaves)

    def _kept(self, job_id: str, holder: Holder, result: RawJson, now: Instant) -> Document | None:
        """Return where the result is stored; None for a result that is not kept.

        Nobody may fill the table with results of jobs that are not theirs: for a large one the
        job is read first.
        """
        check_size(result, self.max_result_bytes)
        if not self.changer.store.fits_inline(result):
            job = self.changer.load(job_id, now)
            check_holder(job, "acknowledge", holder)
            check_size(result, job.result_limit_bytes)
            if not keeps_result(job):
                return None
        return self.changer.store.keep_result(job_id, result)

    def _without_result(
        self,
        job: JobRecord,
        holder: Holder,
        result: RawJson | None,
        now: Instant,
        leaves: LeftToStream,
    ) -> JobRecord:
        """Complete a job that keeps no result (``result_ttl`` 0).

        :raises ResultTooLargeError: it would take a smaller one.
        :raises ConflictError: it is not the result that was in the way.
        """
        if result is not None:
            check_size(result, job.result_limit_bytes)
        if result is None or keeps_result(job):
            raise holder.refusal(job, "acknowledge")
        try:
            return self._acknowledge(job.id, holder, None, now, leaves)
        except StaleJobError as stale:
            current = self.changer.settled(found(stale.current, job.id), now)
            raise holder.refusal(current, "acknowledge") from None


def check_size(result: RawJson, max_bytes: int | None) -> None:
    """Refuse a result that is larger than its limit (ojs-results, section 7.2).

    :param max_bytes: None for no limit.
    :raises ResultTooLargeError: the details name size and limit.
    """
    size = len(result.encode())
    if max_bytes is not None and size > max_bytes:
        raise ResultTooLargeError(
            f"The result has {size} bytes; at most {max_bytes} are accepted.",
            details={"field": "result", "size_bytes": size, "max_bytes": max_bytes},
            hint="Store the result elsewhere and complete the job with a reference to it: "
            '{"$ref": "ojs://results/external", "uri": "..."}.',
        )
