"""Reads how a job of a workflow ended, and what it leaves for the steps after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.domain.groups import in_groups
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs.failures import render_failure
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.changes import ended_job
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.results import NULL, bounded
from ojs_aws.domain.workflows.workflow import Ended, StepFailure

if TYPE_CHECKING:
    from ojs_aws.ports import JobStore

MAX_RESULT_BYTES: Final = 250_000
"""A larger result is kept as a reference to its job."""

MAX_NEWS_BYTES: Final = 1_500_000
"""Results that one write takes over."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """Describes an ended job of a workflow, with what it leaves for others.

    :ivar started_at: when its last attempt began.
    """

    ended: Ended
    value: RawJson
    started_at: Instant | None = None


def job_end_of(job: JobRecord, store: JobStore) -> JobEnd | None:
    """Return what the end of a job means for its workflow; None while it has not ended.

    A result that is kept elsewhere is read.
    """
    index = job.workflow_step
    ended = None if index is None else ended_job(job, index)
    if ended is None:
        return None
    if ended.state is StepState.COMPLETED:
        whole = job if isinstance(job.result, str) or job.result is None else _filled(job, store)
        value = whole.result if isinstance(whole.result, str) else NULL
    else:
        value = _error_value(job, ended.failure)
    value = bounded({0: value}, {0: job.id}, MAX_RESULT_BYTES)[0]
    return JobEnd(ended, value, job.started_at)


def _filled(job: JobRecord, store: JobStore) -> JobRecord:
    try:
        return store.fill(job)
    except OjsError:
        if store.load(job.id) is not None:
            raise
        return replace(job, result=None)  # the job was removed meanwhile, and its result


def _error_value(job: JobRecord, failure: StepFailure | None) -> RawJson:
    """Return what later steps get from a job that did not complete."""
    if job.state is JobState.DISCARDED and job.failures:
        error = render_failure(job.failures[-1].without_backtrace())
        return assemble({"error": error})
    if failure is None:  # pragma: no cover - a job that did not complete has a failure
        return NULL
    return error_text(failure.code, failure.message, failure.attempt)


def error_text(code: str, message: str, attempt: int) -> RawJson:
    """Return the error text of a job that never ran, or whose failure has no message."""
    return encode({"error": {"type": code, "code": code, "message": message, "attempt": attempt}})


def in_writes(news: Sequence[JobEnd]) -> Iterator[Sequence[JobEnd]]:
    """Return the ended jobs in groups that fit one write; one empty group if there are none."""
    return in_groups(news, lambda each: len(each.value), MAX_NEWS_BYTES) if news else iter([()])
