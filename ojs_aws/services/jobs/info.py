"""Implements INFO: a job as of now (core, section 7.7)."""

from __future__ import annotations

from dataclasses import dataclass

from ojs_aws.domain import lifecycle
from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.results import as_of
from ojs_aws.ports import JobStore
from ojs_aws.services.jobs.change import JobChanger, found


@dataclass(frozen=True, slots=True)
class Info:
    """Reads a job with all its documents: one call, unless a transition is due."""

    store: JobStore
    changer: JobChanger

    def __call__(self, job_id: str) -> JobRecord:
        """Return the job as of now, with due transitions made and expired results left out.

        :raises InvalidRequestError: the id is no UUIDv7.
        :raises NotFoundError: there is no such job.
        """
        whole = self.store.load_whole(check_job_id(job_id))
        job = whole or self.store.fill(found(self.changer.missing([job_id]).get(job_id), job_id))
        now = self.changer.clock.now()
        if lifecycle.settle_once(job, now) is not None:
            job = self.store.fill(self.changer.settled(job, now))
        return as_of(job, now)
