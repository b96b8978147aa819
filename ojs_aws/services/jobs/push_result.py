"""Describes the results of pushed jobs, and turns errors into ones that an answer can name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ojs_aws.domain.errors import EnqueueRejectedError, JsonValue, OjsError
from ojs_aws.middleware.results import EnqueueResult

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.queues.config import Fill
    from ojs_aws.services.queues.backpressure import Capacity
    from ojs_aws.services.unique.entries import Admitted


@dataclass(frozen=True, slots=True)
class PushResult:
    """Says what happened to one envelope.

    :ivar record: the stored job; None when a middleware dropped it.
    :ivar is_new: False when the very same envelope had been pushed before.
    :ivar dropped_by: name of the middleware that dropped the job.
    :ivar is_duplicate: the record is another job, which has the same uniqueness key.
    :ivar is_update: so it is, and it has this one's arguments and metadata now.
    :ivar fill: how full its queue is, where that is bounded.
    """

    record: JobRecord | None
    is_new: bool = True
    dropped_by: str = ""
    is_duplicate: bool = False
    is_update: bool = False
    fill: Fill | None = None


def push_result_of(lets: Sequence[Admitted]) -> list[PushResult]:
    """Return the results of jobs that may be unique."""
    return [
        PushResult(
            let.record,
            is_new=let.is_new,
            is_duplicate=let.is_duplicate,
            is_update=let.is_update,
        )
        for let in lets
    ]


def settled(capacity: Capacity, pushed: Sequence[PushResult]) -> list[PushResult]:
    """Give back the capacity of jobs that were not new; say how full the queues are.

    :param pushed: what became of the capacity's jobs, in their order.
    """
    if not capacity.fills:
        return [*pushed]
    capacity.give_back(
        index
        for index, each in enumerate(pushed)
        if not each.is_new or each.is_duplicate or each.is_update
    )
    return [
        replace(each, fill=capacity.fills.get(record.queue))
        for each, record in zip(pushed, capacity.records, strict=True)
    ]


def not_pushed(result: EnqueueResult) -> PushResult:
    """Return the result of a job that a middleware dropped."""
    return PushResult(None, is_new=False, dropped_by=result.dropped_by)


def raise_swallowed(results: Sequence[EnqueueResult]) -> None:
    """Raise the error that a middleware caught around the insertion: no answer can show it."""
    for result in results:
        if result.error is not None:
            raise result.error


@contextmanager
def rejecting(job_id: str) -> Iterator[None]:
    """Turn an error of a middleware's own into one that an answer can name.

    :raises EnqueueRejectedError: with the ids of the jobs that are stored nevertheless.
    """
    try:
        yield
    except OjsError:
        raise
    except Exception as problem:
        stored: list[JsonValue] = list(getattr(problem, "stored_job_ids", None) or ())
        details: dict[str, JsonValue] = {"stored_job_ids": stored}
        if job_id:
            details["job_id"] = job_id
        raise EnqueueRejectedError(
            f"An enqueue middleware or hook refused the job: {type(problem).__name__}: {problem}",
            details=details,
        ) from problem
