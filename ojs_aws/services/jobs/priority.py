"""Changes the priority of a job that waits to begin (ojs-priority, section 8.1)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain import lifecycle
from ojs_aws.domain.attributes import check_job_id
from ojs_aws.services.jobs.change import JobChange, JobChanger


@dataclass(frozen=True, slots=True)
class ChangePriority:
    """Moves jobs to other places in the ready list."""

    changer: JobChanger

    def __call__(self, job_id: str, priority: int) -> JobChange:
        """Change a job's priority by one conditional write; no message is needed.

        The message that names the old place finds the job by its id: a claim looks again.

        :param priority: -100 to 100; the higher is served first.
        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is neither available, scheduled nor pending.
        """
        return self.changer.apply(
            check_job_id(job_id), lambda job, _: lifecycle.reprioritise(job, priority)
        )
