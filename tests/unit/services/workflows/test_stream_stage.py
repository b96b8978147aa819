"""What a change of an item means for a workflow, and how the changes of one are followed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows.workflow import Workflow, WorkflowState
from ojs_aws.services.workflows.advance import WorkflowAdvance
from ojs_aws.services.workflows.stream_stage import WorkflowStage, follow, following
from tests.contract.test_job_store import NOW, a_job

S = JobState


def step(state: JobState, attempt: int = 1) -> JobRecord:
    job = a_job(state=state, attempt=attempt, started_at=NOW)
    return replace(job, workflow_id="w", workflow_step=0)


@pytest.mark.parametrize(
    ("was", "job", "expected"),
    [
        (S.ACTIVE, step(S.COMPLETED), "ended"),
        (S.ACTIVE, step(S.DISCARDED), "ended"),
        (S.COMPLETED, step(S.COMPLETED), ""),
        (S.AVAILABLE, step(S.ACTIVE), "started_at"),
        (S.ACTIVE, step(S.ACTIVE), ""),
        (S.AVAILABLE, step(S.ACTIVE, 2), ""),
        (S.ACTIVE, step(S.RETRYABLE), "retried"),
        (S.ACTIVE, step(S.AVAILABLE), "retried"),
        (None, step(S.AVAILABLE, 0), ""),
        (None, step(S.SCHEDULED, 0), ""),
        (None, a_job(state=S.COMPLETED), ""),
    ],
)
def test_a_step_that_ended_began_or_waits_again_matters_to_its_workflow(
    was: JobState | None, job: JobRecord, expected: str
) -> None:
    """Once: where its state has changed, and the first of its attempts began."""
    found = following(None if was is None else replace(job, state=was), job)
    if not expected:
        assert found is None
        return
    value = NOW if expected == "started_at" else job
    assert found == WorkflowStage(workflow_id="w", **{expected: value})  # type: ignore[arg-type]


def a_workflow(state: WorkflowState, cancelled: int = 0, **more: Any) -> Workflow:
    return Workflow(
        id="w",
        kind="chain",  # type: ignore[arg-type]
        version=1,
        state=state,
        created_at=NOW,
        job_count=1,
        steps_total=1,
        cancelled_count=cancelled,
        **{"states": "c", **more},
    )


RUNNING, CANCELLED = a_workflow(WorkflowState.RUNNING), a_workflow(WorkflowState.CANCELLED)


@pytest.mark.parametrize(
    ("before", "after", "is_left"),
    [
        (None, RUNNING, False),
        (RUNNING, RUNNING, False),
        (RUNNING, CANCELLED, True),
        (None, CANCELLED, True),
        (CANCELLED, CANCELLED, False),
        (CANCELLED, a_workflow(WorkflowState.CANCELLED, 1), True),
        (RUNNING, a_workflow(WorkflowState.COMPLETED), False),
    ],
)
def test_a_cancelled_workflow_goes_on_while_it_cancels_jobs(
    before: Workflow | None, after: Workflow, is_left: bool
) -> None:
    """Each portion's write calls for the next one."""
    found = following(before, after)
    assert (found is not None and found.is_unfinished) is is_left
    gone = following(after, None)
    assert gone == WorkflowStage(workflow_id="w", is_gone=True)


@dataclass
class Advance:
    """Notes what is asked of the service that moves workflows on."""

    workflow: Workflow | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    workflows: Any = None

    def news_of(self, job: JobRecord) -> Any:
        return SimpleNamespace(job=job.id) if job.state.is_terminal else None

    def advance(self, workflow_id: str, news: list[Any], *, started_at: Any) -> Workflow | None:
        self.calls.append(("advance", workflow_id, len(news), started_at))
        return self.workflow

    def started(self, workflow_id: str, at: Instant) -> None:
        self.calls.append(("started", workflow_id, at))

    def cancel_jobs(self, workflow: Workflow) -> None:
        self.calls.append(("cancel", workflow.id))

    def retried(self, job: JobRecord) -> None:
        self.calls.append(("retried", job.id))


def followed(workflow: Workflow | None, *stages: WorkflowStage) -> list[tuple[Any, ...]]:
    advance = Advance(workflow)
    given = cast("WorkflowAdvance", advance)
    changes = [(str(number), stage) for number, stage in enumerate(stages)]
    assert follow(lambda: given, changes) == {}
    return advance.calls


EARLY, LATE = Instant(NOW - 5), Instant(NOW + 5)
ENDED = WorkflowStage(workflow_id="w", ended=step(S.COMPLETED))
LEFT = WorkflowStage(workflow_id="w", is_unfinished=True)


def began(at: Instant) -> WorkflowStage:
    return WorkflowStage(workflow_id="w", started_at=at)


@pytest.mark.parametrize(
    ("workflow", "stages", "calls"),
    [
        (RUNNING, [began(LATE), began(EARLY)], [("started", "w", EARLY)]),
        (RUNNING, [began(LATE), ENDED, began(EARLY)], [("advance", "w", 1, EARLY)]),
        (RUNNING, [ENDED, ENDED], [("advance", "w", 2, None)]),
        (RUNNING, [LEFT], [("advance", "w", 0, None)]),
        (CANCELLED, [LEFT], [("advance", "w", 0, None), ("cancel", "w")]),
        (CANCELLED, [ENDED], [("advance", "w", 1, None)]),
        (None, [LEFT], [("advance", "w", 0, None)]),
        (
            RUNNING,
            [WorkflowStage(workflow_id="w", retried=step(S.RETRYABLE))],
            [("retried", a_job().id)],
        ),
    ],
)
def test_the_changes_of_a_workflow_are_followed_together(
    workflow: Workflow | None, stages: list[WorkflowStage], calls: list[tuple[Any, ...]]
) -> None:
    """By one write; it started when the first of its jobs began."""
    assert followed(workflow, *stages) == calls


def test_workflows_that_there_is_no_time_for_are_left() -> None:
    """They are begun again later; none is begun without time."""
    advance = Advance(RUNNING)
    given = cast("WorkflowAdvance", advance)
    other = replace(ENDED, workflow_id="v")
    time_left = iter([True, False])
    changes = [("1", ENDED), ("2", other), ("3", ENDED)]
    assert follow(lambda: given, changes, lambda: next(time_left)) == {"2": None}
    assert advance.calls == [("advance", "w", 2, None)]
