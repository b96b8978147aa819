"""Declares the answers about sequences."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ojs_aws.transport.http.models import Further, JobId, Timestamp


class WaitingJob(TypedDict):
    """Names a blocked job, and its position."""

    job_id: JobId
    position: int


class StoppedEntry(TypedDict):
    """Shows a stopped sequence; ``queue`` and ``type`` are those of its discarded job."""

    key: str
    tenant_id: NotRequired[str]
    state: Literal["stopped"]
    job_id: JobId
    queue: NotRequired[str]
    type: NotRequired[str]
    position: int
    next: int
    stopped_at: Timestamp


class SequencePagination(Further):
    """Says where a list of sequences goes on."""

    limit: int


class SequencesAnswer(TypedDict):
    """Shows a page of the stopped sequences."""

    sequences: list[StoppedEntry]
    pagination: SequencePagination


class SequenceAnswer(TypedDict):
    """Shows whose turn it is, and the first jobs that are blocked.

    ``next`` is the position of the next job that is enqueued.
    """

    key: str
    tenant_id: NotRequired[str]
    state: Literal["running", "stopped"]
    job_id: JobId
    position: int
    next: int
    stopped_at: NotRequired[Timestamp]
    blocked: list[WaitingJob]
