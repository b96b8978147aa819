"""Implements ACTIVATE: a pending job becomes available (HTTP binding, section 7.8)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain import lifecycle
from ojs_aws.domain.attributes import check_job_id
from ojs_aws.services.jobs.change import JobChange, JobChanger
from ojs_aws.services.jobs.messages import JobMessages


@dataclass(frozen=True, slots=True)
class Activate:
    """Releases jobs that were enqueued with the pending flag."""

    changer: JobChanger
    job_messages: JobMessages

    def __call__(self, job_id: str) -> JobChange:
        """Make a pending job available and send its message.

        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not pending.
        """
        clock = self.changer.clock
        change = self.changer.apply(
            check_job_id(job_id), lambda job, now: lifecycle.activate(job, now, clock.order())
        )
        self.job_messages.send_for([change.after], clock.now())
        return change
