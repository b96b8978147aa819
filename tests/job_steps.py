"""Jobs on their way through the services: pushed, fetched, active."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ojs_aws.domain.job import JobRecord
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.jobs import any_job


def pushed(
    backend: Backend,
    type: str = "demo.echo",  # noqa: A002 - as Job has it
    args: Sequence[Any] = (1,),
    **members: Any,
) -> JobRecord:
    """Push a job."""
    record = backend.jobs.push(any_job(type, args, **members)).record
    assert record is not None
    return record


def fetched(
    backend: Backend, *queues: str, count: int = 1, worker_id: str = "w", **more: Any
) -> list[JobRecord]:
    """Fetch jobs from some queues, by default from ``default``."""
    return backend.jobs.fetch(FetchRequest(queues or ("default",), count, worker_id, **more))


def fetched_ids(backend: Backend, *queues: str, count: int = 1, worker_id: str = "w") -> list[str]:
    """Fetch jobs; their ids."""
    return [job.id for job in fetched(backend, *queues, count=count, worker_id=worker_id)]


def active(backend: Backend, **members: Any) -> JobRecord:
    """Push a job and fetch it."""
    record = pushed(backend, **members)
    (job,) = fetched(backend, record.queue)
    assert job.id == record.id
    return job
