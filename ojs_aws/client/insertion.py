"""Carry a job from the caller to the transport.

The job is made complete, passes the batch middleware and its own chain, and is stored. The result
says how that ended.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ojs_aws.client.results import EnqueueResult, EnqueueStatus, Stored
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.attributes import SYSTEM_ATTRIBUTES, JobAttributes
from ojs_aws.domain.jobs.versions import MARK, split_type
from ojs_aws.domain.runtime import IdGenerator
from ojs_aws.middleware.chain.batch import Batch, StoreAll, StoreOne
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.middleware.results import dropped


class AsJob(Protocol):
    """Declares what a client takes in place of a job: a call of a typed job, which makes one."""

    def to_job(self) -> Job:
        """Return a new job, which the client may change."""


@dataclass(slots=True)
class Insertion:
    """Brings jobs through the enqueue middleware to whatever stores them.

    :ivar enqueuing: the chain and the hooks; others may be put in their place until they freeze.
    :ivar ids: makes the ids of jobs that come without one.
    """

    enqueuing: Enqueuer
    ids: IdGenerator

    def prepared(
        self, job: Job | AsJob | str, args: Sequence[JsonValue], attributes: JobAttributes
    ) -> Job:
        """Return the envelope as the first middleware sees it: complete, and a copy.

        :raises TypeError: neither a type nor a job, or a job, and ``args`` or attributes beside it;
            or as :class:`Job`.
        :raises InvalidRequestError: a constraint of the envelope is broken.
        """
        prepared = whole_job(job, args, attributes)
        if prepared is job:
            prepared = _without_system_attributes(prepared)
        if not prepared.id:
            prepared.id = self.ids.job_id()
        if MARK in prepared.type:
            prepared.type, version = split_type(prepared.type)
            if version and "version" not in prepared:
                prepared["version"] = version
        if "-" in prepared.type:
            warnings.warn(
                f"The job type {prepared.type!r} holds a hyphen, which other OJS backends refuse.",
                stacklevel=3,
            )
        return prepared

    def prepared_all(self, jobs: Iterable[Job | AsJob]) -> list[Job]:
        """Return each of several whole jobs as the first middleware sees it.

        :raises TypeError: one is no job, or all is one job.
        """
        given: object = jobs  # whatever the annotation says
        if isinstance(given, (Job, str)):
            raise TypeError(f"Expected several jobs, such as [Job(...)], not {_describe(given)}.")
        listed = list(jobs)
        for place, job in enumerate(listed):
            if not isinstance(job, Job) and not hasattr(job, "to_job"):
                raise TypeError(f"Item {place} of the jobs must be a Job, not {_describe(job)}.")
        return [self.prepared(job, (), {}) for job in listed]

    async def one(self, job: Job, store: StoreOne) -> EnqueueResult:
        """Store one job, as a batch of one.

        :raises Exception: whatever a middleware or ``store`` raised, also where a middleware
            around the insertion swallowed it; nothing was enqueued.
        """

        async def enqueue_each(jobs: Sequence[Job]) -> list[EnqueueResult]:
            return [await self._enqueue_one(passed, store) for passed in jobs]

        [result] = await self.enqueuing.many([job], enqueue_each)
        if result.error is not None:  # nothing is enqueued, whoever caught it
            raise result.error
        return result

    async def many(
        self, jobs: Sequence[Job], store: StoreAll, *, is_atomic: bool
    ) -> list[EnqueueResult]:
        """Store several jobs: those that come through are stored together.

        :param is_atomic: one job that does not come through stops them all.
        :returns: the outcome of each job, in the order of the jobs.
        :raises BatchRejectedError: atomic, and the middleware dropped or failed a job.
        :raises OjsError: the backend refused the batch; nothing was enqueued.
        """

        async def enqueue_batch(jobs: Sequence[Job]) -> list[EnqueueResult]:
            return await Batch(self._enqueue_one, store, is_atomic=is_atomic).run(jobs)

        return await self.enqueuing.many(jobs, enqueue_batch, is_atomic=is_atomic)

    async def _enqueue_one(self, job: Job, store: StoreOne) -> EnqueueResult:
        """Run the chain around the storing, and return how it ended."""
        kept: list[Stored] = []

        async def keep(final: Job) -> Job | None:
            stored = await store(_without_system_attributes(final))
            kept.append(stored)
            # The chain goes on with the job it knows, when another one was found under its key.
            is_other = stored.job is not None and stored.job.id != final.id
            return final if is_other else stored.job

        final, dropped_by = await self.enqueuing.one(job, keep)
        if not kept:
            return dropped(job, dropped_by)
        stored = kept[0]
        if stored.job is None:
            return dropped(job, stored.dropped_by)
        is_other = stored.job.id != job.id
        return EnqueueResult(
            status=EnqueueStatus.ENQUEUED,
            job=stored.job if is_other else final or stored.job,
            is_new=stored.is_new,
            asked_id=job.id if is_other else "",
        )


def whole_job(job: Job | AsJob | str, args: Sequence[JsonValue], attributes: JobAttributes) -> Job:
    """Return the job that a caller describes by a type or a call, or gives as it is.

    :raises TypeError: neither a type nor a job; or a job, and ``args`` or attributes beside it.
    """
    if isinstance(job, str):
        return Job(job, args, **attributes)
    if not isinstance(job, Job):
        to_job = getattr(job, "to_job", None)
        if to_job is None:
            shown = _describe(job)
            raise TypeError(f"Expected a job type such as 'email.send', or a Job, not {shown}.")
        made: Job = to_job()
        job = made
    if attributes or not (isinstance(args, (list, tuple)) and not args):
        raise TypeError("The args and attributes belong to the Job when a Job is given.")
    return job


def _describe(value: object) -> str:
    """Describe what came instead of a job."""
    return f"the string {value!r}" if isinstance(value, str) else f"a {type(value).__name__}"


def _without_system_attributes(job: Job) -> Job:
    """Return a copy without the attributes that only the system sets."""
    return Job.from_members(
        {name: raw for name, raw in job.members().items() if name not in SYSTEM_ATTRIBUTES}
    )
