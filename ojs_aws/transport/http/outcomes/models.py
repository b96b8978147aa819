"""Declares the answers about results, progress and checkpoints."""

from __future__ import annotations

from typing import Any, NotRequired, Required

from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.transport.http.answers import Failure, Fraction, JobId, JsonObject, Timestamp
from ojs_aws.transport.http.calls import JsonOf


class Outcome(TypedDict, total=False):
    """Says what became of a job; ``result`` is null until there is one."""

    type: Required[str]
    queue: Required[str]
    state: Required[JobState]
    attempt: Required[int]
    result: Required[JsonOf[Any]]
    error: JsonOf[Failure]
    result_stored_at: Timestamp
    result_expires_at: Timestamp
    result_size_bytes: int


class ResultAnswer(Outcome):
    """Says what became of one job."""

    job_id: JobId
    id: JobId


class ResultsAnswer(TypedDict):
    """Says what became of several jobs; null for one that does not exist."""

    results: dict[str, Outcome | None]


class ProgressMembers(TypedDict):
    """Says how far a job has come; null for what was not reported."""

    progress: Fraction | None
    percentage: float | None
    data: JsonOf[JsonObject] | None
    message: str | None
    updated_at: Timestamp | None
    accepted: NotRequired[bool]


class ProgressAnswer(ProgressMembers):
    """Shows the progress of a job."""

    job_id: JobId
    state: JobState
    attempt: int


class StepProgress(TypedDict):
    """Shows the progress of a workflow's step."""

    job_id: str | None
    type: str
    state: str
    progress: Fraction | None
    data: NotRequired[JsonOf[JsonObject]]


class WorkflowProgressAnswer(TypedDict):
    """Shows the progress of a workflow and of its first steps."""

    workflow_id: str
    type: str
    state: str
    progress: Fraction
    steps: list[StepProgress]


class CheckpointState(TypedDict, total=False):
    """Holds what a checkpoint keeps."""

    state: JsonOf[Any]
    step_index: JsonOf[int]
    metadata: JsonOf[JsonObject | None]


class Checkpoint(CheckpointState):
    """Shows a checkpoint of a job."""

    job_id: JobId
    sequence: int
    created_at: Timestamp


class CheckpointAnswer(Checkpoint):
    """Shows a checkpoint in a wrapper, and flat but for what is too large."""

    checkpoint: JsonOf[Checkpoint]


class ResumeAnswer(TypedDict):
    """Says whether there is a checkpoint, and shows it."""

    job_id: JobId
    has_checkpoint: bool
    checkpoint: NotRequired[JsonOf[Checkpoint]]


class CheckpointDeletedAnswer(TypedDict):
    """Says whether there was a checkpoint to delete."""

    deleted: bool
    existed: bool
    job_id: JobId
