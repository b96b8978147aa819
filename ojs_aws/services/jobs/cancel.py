"""Implements CANCEL: any non-terminal job becomes cancelled (core, section 7.6)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain import lifecycle
from ojs_aws.domain.attributes import check_job_id
from ojs_aws.services.jobs.change import JobChange, JobChanger
from ojs_aws.services.jobs.messages import JobMessages


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancels jobs. The worker of an active one learns it with its next heartbeat."""

    changer: JobChanger
    job_messages: JobMessages

    def __call__(self, job_id: str) -> JobChange:
        """Cancel a job and delete the message of its reservation.

        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is in a terminal state; nothing changes.
        """
        change = self.changer.apply(check_job_id(job_id), lifecycle.cancel)
        self.job_messages.delete_for(change.before)
        return change
