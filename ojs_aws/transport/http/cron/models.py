"""Declares the requests and answers about cron jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ojs_aws.domain.cron.entry import MAX_NAME_LENGTH, NAME_PATTERN, OverlapPolicy
from ojs_aws.domain.cron.entry import Outcome as CronOutcome
from ojs_aws.domain.cron.schedule import MAX_EXPRESSION_LENGTH
from ojs_aws.services.cron.service import MAX_DESCRIPTION
from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.jobs.requests import OptionsBody
from ojs_aws.transport.http.models import Body, JobType, JsonObject, Pagination, Timestamp


class CronChangeTemplateBody(Body):
    """Changes members of the job of a cron job."""

    type: JobType | None = None
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    options: OptionsBody | None = None


class CronTemplateBody(CronChangeTemplateBody):
    """Describes the job of a cron job: an envelope without an id."""

    type: JobType


class CronChangeBody(CronChangeTemplateBody):
    """Changes a cron job (ojs-cron, section 8.5): what is not named stays."""

    cron: Annotated[str, Field(max_length=MAX_EXPRESSION_LENGTH, examples=["0 9 * * *"])] | None = (
        None
    )
    expression: Annotated[str, Field(max_length=MAX_EXPRESSION_LENGTH)] | None = None
    timezone: str | None = None
    overlap_policy: Literal["skip", "allow", "cancel_previous", "cancel", "enqueue"] | None = None
    enabled: bool | None = None
    description: Annotated[str, Field(max_length=MAX_DESCRIPTION)] | None = None
    job_template: CronChangeTemplateBody | None = None


class CronBody(CronChangeBody):
    """Registers a cron job (ojs-cron, section 8.1).

    The expression stands in ``cron`` or in ``expression``; the job in ``job_template``, or in
    ``type``, ``args``, ``meta`` and ``options``.
    """

    name: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$", max_length=MAX_NAME_LENGTH)]
    job_template: CronTemplateBody | None = None


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
