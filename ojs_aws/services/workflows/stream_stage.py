"""Applies committed changes to workflows: a stage of the stream's consumer.

Every record may come twice, late, or together with others: doing it again changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState

if TYPE_CHECKING:
    from ojs_aws.services.workflows.advance import WorkflowAdvance

_logger = logging.getLogger(__name__)

_WAITS: Final = frozenset({JobState.AVAILABLE, JobState.RETRYABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStage:
    """Holds what one change means for a workflow.

    :ivar ended: a job of it that has ended.
    :ivar started_at: when a job of it began its first attempt.
    :ivar retried: a job of it that waits for another attempt.
    :ivar is_unfinished: its own item says that jobs are left to be enqueued, or cancelled.
    :ivar is_gone: its own item was removed.
    """

    workflow_id: str
    ended: JobRecord | None = None
    started_at: Instant | None = None
    retried: JobRecord | None = None
    is_unfinished: bool = False
    is_gone: bool = False


def following(before: object | None, after: object | None) -> WorkflowStage | None:
    """Return what a change means for a workflow; None for nothing.

    :param before: what an item of the table stood for before a write, and ``after``: after it.
    """
    if isinstance(before, Workflow) and after is None:
        return WorkflowStage(workflow_id=before.id, is_gone=True)
    if isinstance(after, Workflow):
        was = before if isinstance(before, Workflow) else None
        is_left = after.has_ready or _goes_on_cancelling(was, after)
        return WorkflowStage(workflow_id=after.id, is_unfinished=True) if is_left else None
    if isinstance(after, JobRecord) and after.workflow_step is not None:
        return _of_job(before.state if isinstance(before, JobRecord) else None, after)
    return None


def _of_job(was: JobState | None, job: JobRecord) -> WorkflowStage | None:
    if job.state is was:
        return None
    found = WorkflowStage(workflow_id=job.workflow_id)
    if job.state.is_terminal:
        return replace(found, ended=job)
    if job.state is JobState.ACTIVE and job.attempt == 1:
        return replace(found, started_at=job.started_at)
    if job.attempt and job.state in _WAITS:
        return replace(found, retried=job)
    return None


def _goes_on_cancelling(before: Workflow | None, after: Workflow) -> bool:
    """Return whether more jobs must be cancelled: each portion's write calls for the next."""
    if after.state is not WorkflowState.CANCELLED:
        return False
    if before is None or before.state is not WorkflowState.CANCELLED:
        return True
    return before.cancelled_count != after.cancelled_count


def follow(
    workflow_advance: Callable[[], WorkflowAdvance],
    changes: Sequence[tuple[str, WorkflowStage]],
    has_time: Callable[[], bool] = lambda: True,
) -> dict[str, Exception | None]:
    """Apply changes to workflows, those of one workflow together.

    :param workflow_advance: makes the service; not called when there is nothing to do.
    :param changes: each with its number.
    :param has_time: whether another workflow may be begun.
    :returns: the numbers of those that must be done again, and why; None where no time was left.
    """
    failed: dict[str, Exception | None] = {}
    for workflow_id, group in _by_workflow(changes).items():
        if not has_time():
            failed.update(dict.fromkeys(number for number, _ in group))
            continue
        try:
            _follow_one(workflow_advance(), workflow_id, [change for _, change in group])
        except Exception as problem:  # one workflow must not hold up the others
            _logger.exception("Could not move workflow %s on", workflow_id)
            failed.update(dict.fromkeys((number for number, _ in group), problem))
    return failed


def _by_workflow(
    changes: Sequence[tuple[str, WorkflowStage]],
) -> Mapping[str, list[tuple[str, WorkflowStage]]]:
    groups: dict[str, list[tuple[str, WorkflowStage]]] = {}
    for number, change in changes:
        groups.setdefault(change.workflow_id, []).append((number, change))
    return groups


def _follow_one(
    workflow_advance: WorkflowAdvance, workflow_id: str, changes: Sequence[WorkflowStage]
) -> None:
    if any(change.is_gone for change in changes):
        workflow_advance.workflows.forget(workflow_id)
        return
    ended = [change.ended for change in changes if change.ended is not None]
    begun = [change.started_at for change in changes if change.started_at is not None]
    news = [each for job in ended if (each := workflow_advance.news_of(job)) is not None]
    is_unfinished = any(change.is_unfinished for change in changes)
    if news or is_unfinished:
        workflow = workflow_advance.advance(workflow_id, news, started_at=min(begun, default=None))
        if is_unfinished and workflow and workflow.state is WorkflowState.CANCELLED:
            workflow_advance.cancel_jobs(workflow)
    elif begun:
        workflow_advance.started(workflow_id, min(begun))
    for change in changes:
        if change.retried is not None:
            workflow_advance.retried(change.retried)
