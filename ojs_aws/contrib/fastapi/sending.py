"""Enqueue jobs where it is too late to say that it failed: an error is logged."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ojs_aws.client import EnqueueResult
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import OjsError

EnqueueMany = Callable[[Sequence[Job]], Awaitable[list[EnqueueResult]]]
_logger: Final = logging.getLogger("ojs_aws.contrib.fastapi")


async def enqueue_or_log(jobs: Sequence[Job], enqueue_many: EnqueueMany) -> None:
    """Enqueue jobs in one request; log each that was not enqueued, with its id, and raise nothing.

    If the backend refuses the batch for good, each job is sent alone, so that one does not cost
    the others.
    """
    if not jobs:
        return
    try:
        results = await enqueue_many(jobs)
    except Exception as problem:  # noqa: BLE001 - the response, or the commit, is done
        if len(jobs) > 1 and isinstance(problem, OjsError) and not problem.retryable:
            for job in jobs:
                await enqueue_or_log([job], enqueue_many)
            return
        for job in jobs:
            _log(job, problem)
        return
    for result in results:
        if result.error is not None:
            _log(result.job, result.error)


def _log(job: Job, problem: BaseException) -> None:
    """Log that a job is lost; never its arguments, which may be secret."""
    _logger.error(
        "Job %s (%s) was not enqueued: %s",
        job.id,
        job.type,
        problem,
        extra={"job_id": job.id, "job_type": job.type},
        exc_info=problem,
    )
