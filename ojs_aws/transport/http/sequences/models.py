"""Declares the answers about sequences."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ojs_aws.transport.http.models import JobId, Timestamp


class WaitingJob(TypedDict):
    """Names a blocked job, and its position."""

    job_id: JobId
    position: int


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
