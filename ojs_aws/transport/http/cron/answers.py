"""Declares the answers about cron jobs."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ojs_aws.domain.cron.entry import Outcome as CronOutcome
from ojs_aws.domain.cron.entry import OverlapPolicy
from ojs_aws.transport.http.answers import JsonObject, Pagination, Timestamp
from ojs_aws.transport.http.json_of import JsonOf


class CronOccurrence(TypedDict):
    """Says how an occurrence ended."""

    outcome: CronOutcome
    scheduled_at: Timestamp
    at: Timestamp
    job_id: NotRequired[str]
    reason: NotRequired[str]
    active_job_id: NotRequired[str]


class CronTemplate(TypedDict):
    """Shows the job that a cron job pushes, as it was registered."""

    type: JsonOf[str]
    args: JsonOf[list[Any]]
    options: JsonOf[JsonObject]
    meta: NotRequired[JsonOf[JsonObject]]


class CronNotes(TypedDict, total=False):
    """Holds what people wrote about a cron job, and the next runs where one is asked for."""

    description: str
    next_runs: list[Timestamp]


class CronMembers(CronTemplate, CronNotes):
    """Holds what an answer shows of a cron job, but for ``cron``."""

    id: str
    name: str
    schedule: str
    expression: str
    timezone: str
    job_template: JsonOf[CronTemplate]
    queue: str
    overlap_policy: OverlapPolicy
    enabled: bool
    status: Literal["active", "paused"]
    last_run_at: Timestamp | None
    next_run_at: Timestamp | None
    run_count: int
    last_occurrence: CronOccurrence | None
    created_at: Timestamp
    updated_at: Timestamp


class Cron(CronMembers):
    """Shows a cron job; ``cron`` is its expression."""

    cron: str


class CronAnswer(CronMembers):
    """Shows one cron job in each wrapper, and flat; ``cron`` is then a wrapper."""

    cron: JsonOf[Cron]
    cron_job: JsonOf[Cron]


class CronRegisteredAnswer(CronAnswer):
    """Shows a registered cron job, and warns of an expression that seldom matches."""

    warnings: NotRequired[list[str]]


class CronDeletedAnswer(CronAnswer):
    """Shows a cron job that was removed."""

    deleted: bool


class CronTriggerAnswer(CronAnswer):
    """Says whether a cron job ran, or why not."""

    triggered: bool
    job_id: str | None
    reason: str | None
    active_job_id: str | None


class CronsAnswer(TypedDict):
    """Shows a page of cron jobs under each name that clients look for."""

    crons: JsonOf[list[Cron]]
    cron_jobs: JsonOf[list[Cron]]
    entries: JsonOf[list[Cron]]
    items: JsonOf[list[Cron]]
    count: int
    pagination: Pagination
    total: int
