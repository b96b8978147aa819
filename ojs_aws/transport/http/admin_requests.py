"""Declares the bodies about workflows, cron jobs and schemas, and what operators send."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ojs_aws.domain.attributes import PRIORITY_LIMIT
from ojs_aws.domain.cron.entry import MAX_NAME_LENGTH, NAME_PATTERN
from ojs_aws.domain.cron.schedule import MAX_EXPRESSION_LENGTH
from ojs_aws.domain.schemas import MAX_VERSION_LENGTH, VERSION_PATTERN
from ojs_aws.domain.workers import MAX_CONCURRENCY, MAX_QUEUES, MAX_WEIGHT, Strategy
from ojs_aws.domain.workflows.definition import ID_PATTERN as WORKFLOW_ID_PATTERN
from ojs_aws.domain.workflows.dependencies import MAX_NAME as MAX_STEP_NAME
from ojs_aws.services.bulk import MAX_BULK
from ojs_aws.services.cron.service import MAX_DESCRIPTION
from ojs_aws.services.schemas.registry import MAX_URI_LENGTH
from ojs_aws.transport.http.requests import (
    Body,
    JobId,
    JobType,
    OptionsBody,
    QueueName,
    ShortText,
)


class WorkflowParts(Body):
    """Holds what a workflow and a step that is a workflow may have."""

    name: Annotated[str, Field(max_length=MAX_STEP_NAME)] | None = None
    steps: list[StepBody] | None = None
    jobs: list[StepBody] | None = None
    callbacks: dict[Literal["on_complete", "on_success", "on_failure"], StepBody] | None = None
    options: OptionsBody | None = None


class StepBody(WorkflowParts):
    """A step: a job as PUSH takes it, or a workflow (then with ``steps`` or ``jobs``)."""

    type: str | None = None
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    id: Annotated[str, Field(max_length=MAX_STEP_NAME)] | None = None
    depends_on: list[str] | None = None


class WorkflowBody(WorkflowParts):
    """A workflow: chain, group or batch (ojs-workflows), or steps with ``depends_on``."""

    type: Literal["chain", "group", "batch", "dag", "workflow"] | None = None
    id: Annotated[str, Field(pattern=f"^{WORKFLOW_ID_PATTERN}$")] | None = None


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


SchemaVersion = (
    Annotated[int, Field(ge=0, lt=10**9)]
    | Annotated[str, Field(pattern=f"^{VERSION_PATTERN}$", max_length=MAX_VERSION_LENGTH)]
)


class SchemaPutBody(Body):
    """Holds the schema of the version that the path names (job versioning, section 6.1)."""

    type: JobType | None = None
    version: SchemaVersion | None = None
    uri: Annotated[str, Field(max_length=MAX_URI_LENGTH)] | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    args_schema: dict[str, Any] | None = None


class SchemaBody(SchemaPutBody):
    """Registers a schema (ojs-schema-registry, section 4.1; binding, section 15.2).

    The type stands in ``type`` or in ``job_type``, the schema in ``schema`` or ``args_schema``.
    """

    job_type: JobType | None = None


PoolWeight = Annotated[int, Field(ge=1, le=MAX_WEIGHT)]


class PoolQueue(Body):
    """Gives the weight of one queue of a worker pool."""

    weight: PoolWeight = 1


class PoolBody(Body):
    """Describes a worker pool; ``queues`` is a list beside ``weights``, or has the weights."""

    name: str | None = None
    queues: (
        Annotated[list[QueueName], Field(min_length=1, max_length=MAX_QUEUES)]
        | dict[QueueName, PoolWeight | PoolQueue]
    )
    strategy: Strategy = Strategy.ROUND_ROBIN
    weights: dict[QueueName, PoolWeight] | None = None
    concurrency: Annotated[int, Field(ge=1, le=MAX_CONCURRENCY)] | None = None


class SelectionBody(Body):
    """Which workers a directive is for; one of ``queue``, ``label`` and ``all`` must be said."""

    queue: QueueName | None = None
    label: ShortText | None = None
    all: bool | None = None
    cursor: str | None = None


class DirectiveBody(SelectionBody):
    """Sends a directive to the chosen workers, or to all of them."""

    directive: Literal["quiet", "terminate", "resume", "running"]


class DeadLetterFilterBody(Body):
    """Which dead letters are meant (ojs-dead-letter, section 9.1)."""

    queue: QueueName | None = None
    type: str | None = None
    error_type: str | None = None
    since: str | None = None
    until: str | None = None


class BulkBody(Body):
    """Changes many dead letters (section 6.2): those of a filter, or those that it names."""

    confirm: bool = False
    dry_run: bool = False
    as_of: str | None = None
    filter: DeadLetterFilterBody | None = None
    ids: Annotated[list[JobId], Field(min_length=1, max_length=MAX_BULK)] | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = MAX_BULK
    cursor: str | None = None


class RetryBody(Body):
    """Changes to a dead letter on its way back (section 6.3)."""

    override: dict[str, Any] | None = None


class JobFilterBody(Body):
    """Which jobs are meant; all that is given must match (ojs-admin-api, sections 7.1 and 8)."""

    queue: QueueName | None = None
    state: str | list[str] | None = None
    type: Annotated[str, Field(max_length=256)] | None = None
    since: str | None = None
    until: str | None = None
    tag: Annotated[str, Field(max_length=256)] | None = None
    error: Annotated[str, Field(max_length=256)] | None = None


class JobBulkBody(Body):
    """Changes the jobs of a filter with at least one member (ojs-admin-api, section 8).

    Retry, cancel and delete take ``job_ids`` instead of a filter: those that a dry run named.
    """

    job_ids: Annotated[list[str], Field(min_length=1, max_length=MAX_BULK)] | None = None
    filter: JobFilterBody | None = None
    confirm: bool = False
    dry_run: bool = False
    limit: Annotated[int, Field(ge=1, le=1000)] = MAX_BULK
    cursor: Annotated[str, Field(max_length=2048)] | None = None
    as_of: str | None = None
    state: str | list[str] | None = None
    queue: str | None = None
    type: str | None = None


class JobBulkPriorityBody(JobBulkBody):
    """Gives the jobs of a filter a priority."""

    priority: Annotated[int, Field(ge=-PRIORITY_LIMIT, le=PRIORITY_LIMIT)]


class RepairBody(Body):
    """Asks for the next part of a repair."""

    dry_run: bool = False
    cursor: Annotated[str, Field(max_length=2048)] | None = None


class BindingRetry(Body):
    """Names the errors of a binding's jobs after which no retry helps."""

    non_retryable_errors: Annotated[list[str], Field(max_length=100)]


class BindingConfigBody(Body):
    """Says how the jobs of a binding run; what it does not name is as the stack says.

    ``signing_secret`` of the specification is the stack's.
    """

    max_concurrency: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    timeout_ms: Annotated[int, Field(ge=1, le=604_800_000)] | None = None
    retry: BindingRetry | None = None


class BindingBody(Body):
    """Registers the job types of a binding (ojs-serverless, 2.1).

    The function, and what URLs there may be, are the stack's: ``queues`` of the specification has
    no place here, and ``endpoint`` only for the kind https.
    """

    job_types: Annotated[list[str], Field(min_length=1, max_length=100)]
    endpoint: Annotated[str, Field(max_length=2048)] | None = None
    config: BindingConfigBody | None = None
