"""Declares answers that only the official command line and admin UI read."""

from __future__ import annotations

from typing import NotRequired, Required

from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.transport.http.models import JobId, Timestamp


class FailedAttempt(TypedDict):
    """Describes a failed attempt of a job."""

    attempt: int
    state: str
    error: str
    failed_at: Timestamp
    started_at: NotRequired[Timestamp]
    next_retry_at: NotRequired[Timestamp]


class ShownRetryPolicy(TypedDict):
    """Shows the retry policy of a job."""

    max_attempts: int
    initial_interval: str
    backoff_strategy: str


class RetriesAnswer(TypedDict):
    """Shows the failed attempts of a job."""

    job_id: JobId
    state: JobState
    retries: list[FailedAttempt]
    policy: ShownRetryPolicy


class DeadLettersPurgedAnswer(TypedDict):
    """Says how many dead letters were removed."""

    deleted: int
    failed: int
    has_more: bool


class CronRun(TypedDict, total=False):
    """Shows one run of a cron job; its job may be deleted since."""

    scheduled_at: str
    state: Required[str]
    job_id: str
    reason: str
    started_at: Timestamp
    completed_at: Timestamp


class CronRunsAnswer(TypedDict):
    """Shows the latest runs of a cron job, the newest first."""

    name: str
    executions: list[CronRun]
    count: int
