"""ACK: an active job becomes completed (core, section 7.3)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain import lifecycle
from ojs_aws.domain.errors import ConflictError, PayloadTooLargeError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.validation import check_job_id
from ojs_aws.ports import JobStore, StaleJobError
from ojs_aws.services.changing import Changing, found
from ojs_aws.services.waking import Waking


@dataclass(frozen=True, slots=True)
class Ack:
    """Completes jobs: one conditional write, then the message is deleted."""

    store: JobStore
    changing: Changing
    waking: Waking
    max_result_bytes: int

    def __call__(
        self,
        job_id: str,
        worker_id: str | None,
        result: RawJson | None,
        *,
        has_message: bool = True,
    ) -> JobRecord:
        """Complete a job.

        :param worker_id: the worker that says so; None when it gave no name, and then the job's
            state alone decides.
        :param result: JSON text of the result, or None for none.
        :param has_message: False when whoever invoked the worker deletes the message itself.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not active, not this worker's, or its time was over.
        :raises PayloadTooLargeError: the result is too large; the job stays active.
        """
        check_job_id(job_id)
        now = self.changing.clock.now()
        document = None
        if result is not None:
            self._check_size(result)
            if not self.store.fits_inline(result):
                # Nobody may fill the table with results of jobs that are not theirs.
                check_holder(self.changing.load(job_id, now), "acknowledge", worker_id)
            document = self.store.keep_result(job_id, result)
        try:
            before = self.store.acknowledge(job_id, worker_id, document, now)
        except StaleJobError as stale:
            job = self.changing.settled(found(stale.current, job_id), now)
            raise refusal(job, "acknowledge", worker_id) from None
        if before.state is JobState.COMPLETED:
            return before  # the answer to the write was lost, and its repetition found it done
        if has_message:
            self.waking.forget(before)
        return lifecycle.complete(before, document, now)

    def _check_size(self, result: RawJson) -> None:
        size = len(result.encode())
        if size > self.max_result_bytes:
            raise PayloadTooLargeError(
                f"The result has {size} bytes; at most {self.max_result_bytes} are accepted.",
                details={"size_bytes": size, "max_bytes": self.max_result_bytes},
                hint="Store the result elsewhere and complete the job with a reference to it.",
            )


def refusal(job: JobRecord, verb: str, worker_id: str | None) -> ConflictError:
    """Why a worker's word about a job does not count: its state, or another holder."""
    if job.state is JobState.ACTIVE and job.reservation is not None and worker_id is not None:
        return ConflictError(
            f"Cannot {verb} job '{job.id}': it is reserved by another worker.",
            details={"job_id": job.id, "current_state": job.state, "worker_id": worker_id},
            hint="The reservation expired or was never this worker's: drop the job.",
        )
    return ConflictError(
        f"Cannot {verb} job not in 'active' state. Current state: '{job.state}'.",
        details={
            "job_id": job.id,
            "current_state": job.state,
            "expected_state": JobState.ACTIVE,
        },
    )


def check_holder(job: JobRecord, verb: str, worker_id: str | None) -> None:
    """Refuse a worker that does not hold the job's reservation.

    :raises ConflictError: the job is not active, or it is another worker's.
    """
    held = job.reservation
    if job.state is not JobState.ACTIVE or held is None:
        raise refusal(job, verb, worker_id)
    if worker_id is not None and held.worker_id not in {"", worker_id}:
        raise refusal(job, verb, worker_id)
