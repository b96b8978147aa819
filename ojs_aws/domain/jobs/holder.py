"""Checks whether a worker that reports on a job holds it.

Every report of a worker is judged here, against the job as it was read. The only other place is the
condition of ACK's write.
"""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain.error_details import wrong_state
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.held_job import ANY_ATTEMPT, AttemptRef


@dataclass(frozen=True, slots=True)
class Holder:
    """Names a worker that reports on a job.

    :ivar worker_id: None when it gave no name, and then the job's state alone decides.
    :ivar which: the attempt that the report is about.
    """

    worker_id: str | None
    which: AttemptRef = ANY_ATTEMPT

    def holds(self, job: JobRecord) -> bool:
        """Return True if the job's reservation is this worker's, and of this attempt."""
        held = job.reservation  # which only an active job has
        if held is None:
            return False
        return self._is_named(held.worker_id) and self.which.is_running(job)

    def _is_named(self, worker_id: str) -> bool:
        return self.worker_id is None or worker_id in {"", self.worker_id}

    def refusal(self, job: JobRecord, verb: str) -> ConflictError:
        """Return the error that says why a report does not count."""
        held = job.reservation
        if held is None:
            return lifecycle.not_in(job, verb, JobState.ACTIVE)
        if self._is_named(held.worker_id):
            return _other_attempt(job, verb)
        message = f"Cannot {verb} job '{job.id}': it is reserved by another worker."
        hint = "The reservation expired or was never this worker's: drop the job."
        return wrong_state("job", job.id, job.state, message, hint, worker_id=self.worker_id)


def _other_attempt(job: JobRecord, verb: str) -> ConflictError:
    message = f"Cannot {verb} job '{job.id}': the report is about an attempt that is over."
    hint = "Another attempt is running: drop the report."
    return wrong_state("job", job.id, job.state, message, hint, current_attempt=job.attempt)


def check_holder(job: JobRecord, verb: str, holder: Holder) -> None:
    """Refuse a worker that does not hold the job's reservation.

    :raises ConflictError: the job is not active, it is another worker's, or another attempt of it
        is running.
    """
    if not holder.holds(job):
        raise holder.refusal(job, verb)
