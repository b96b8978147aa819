"""The bodies of requests as pydantic models: types and bounds, for validation and for OpenAPI.

Worker bodies are validated by them. Job envelopes are not: PUSH checks those itself, on the raw
text; their models here describe them, with the very constants that PUSH checks by.

Imported with the first request that needs it: pydantic would cost every cold start 0.1 s.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from ojs_aws.config import MAX_BATCH_JOBS
from ojs_aws.domain import validation as rules
from ojs_aws.domain.cron import MAX_NAME_LENGTH, NAME_PATTERN
from ojs_aws.domain.cron_schedule import MAX_EXPRESSION_LENGTH
from ojs_aws.domain.schema import MAX_VERSION_LENGTH, VERSION_PATTERN
from ojs_aws.domain.workflow_definition import ID_PATTERN as WORKFLOW_ID_PATTERN
from ojs_aws.domain.workflow_definition import MAX_NAME as MAX_STEP_NAME
from ojs_aws.services.cron import MAX_DESCRIPTION
from ojs_aws.services.dead_letter_bulk import MAX_BULK
from ojs_aws.services.heartbeat import MAX_JOBS, MAX_WORKER_ID
from ojs_aws.services.liveness import MAX_INTERVAL_MS, MIN_INTERVAL_MS
from ojs_aws.services.results import MAX_IDS
from ojs_aws.services.schemas import MAX_URI_LENGTH

JobId = Annotated[
    str, Field(pattern=f"^{rules.ID_PATTERN}$", examples=["019539a4-b68c-7def-8000-1a2b3c4d5e6f"])
]
JobType = Annotated[
    str,
    Field(
        pattern=f"^{rules.TYPE_PATTERN}$",
        min_length=1,
        max_length=rules.MAX_TYPE_LENGTH,
        examples=["email.send"],
    ),
]
QueueName = Annotated[
    str,
    Field(
        pattern=f"^{rules.QUEUE_PATTERN}$",
        min_length=1,
        max_length=rules.MAX_QUEUE_LENGTH,
        examples=["default"],
    ),
]
WorkerId = Annotated[str, Field(min_length=1, max_length=MAX_WORKER_ID)]
IntervalMs = Annotated[int, Field(ge=MIN_INTERVAL_MS, le=MAX_INTERVAL_MS)]
ShortText = Annotated[str, Field(max_length=256)]
VisibilityMs = Annotated[int, Field(ge=rules.MIN_VISIBILITY_MS, le=rules.MAX_VISIBILITY_MS)]

MAX_QUEUES = 100
MAX_COUNT = 1000
MAX_LABELS = 50
LARGEST_COUNT = 1_000_000


class Body(BaseModel):
    """What every body has in common: strict types, and room for what it does not name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", strict=True, frozen=True)


# ------------------------------------------------------------------------------- worker bodies
class FetchBody(Body):
    """FETCH (HTTP binding, section 10.1)."""

    queues: Annotated[list[str], Field(min_length=1, max_length=MAX_QUEUES)]
    count: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 1
    worker_id: WorkerId | None = None
    visibility_timeout_ms: VisibilityMs | None = None
    heartbeat_interval_ms: IntervalMs | None = None


class ReportBody(Body):
    """What ACK and FAIL have in common: the job, and who reports."""

    job_id: JobId
    worker_id: WorkerId | None = None


class AckBody(ReportBody):
    """ACK (section 10.2). A null result is a result."""

    result: Any = None


class AckJobBody(Body):
    """ACK of the job that the path names."""

    worker_id: WorkerId | None = None
    result: Any = None


class ErrorObject(Body):
    """A failure, in the form of the core (type) or of the HTTP binding (code)."""

    message: str
    type: str | None = None
    code: str | None = None
    retryable: bool | None = None
    backtrace: list[str] | None = None
    details: dict[str, Any] | None = None


class FailBody(ReportBody):
    """FAIL (section 10.3)."""

    error: ErrorObject


class FailJobBody(Body):
    """FAIL of the job that the path names."""

    error: ErrorObject
    worker_id: WorkerId | None = None


class ProgressBody(Body):
    """PROGRESS (ojs-progress, section 6); numbers beyond the range are clamped."""

    worker_id: WorkerId | None = None
    progress: float | None = None
    percentage: float | None = None
    data: dict[str, Any] | None = None
    message: str | None = None
    checkpoint: Any = None


class ProgressOfBody(ProgressBody):
    """PROGRESS of the job that the body names."""

    job_id: JobId


class CheckpointBody(Body):
    """A checkpoint (ojs-durable-execution, section 4.1)."""

    state: Any
    worker_id: WorkerId | None = None


class ResultsBody(Body):
    """Jobs whose outcomes are asked for (ojs-results, section 9.3)."""

    ids: Annotated[list[str], Field(min_length=1, max_length=MAX_IDS)]


class WorkerBody(Body):
    """What a worker may tell of itself (worker protocol, section 4.2)."""

    hostname: ShortText | None = None
    pid: int | None = None
    queues: Annotated[list[ShortText], Field(max_length=MAX_QUEUES)] | None = None
    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    labels: Annotated[list[ShortText], Field(max_length=MAX_LABELS)] | None = None
    started_at: ShortText | None = None
    version: ShortText | None = None
    metadata: dict[str, Any] | None = None
    heartbeat_interval_ms: IntervalMs | None = None


class HeartbeatValues(WorkerBody):
    """A heartbeat in one form: ids apart from their number, the state by its own name."""

    worker_id: WorkerId | None = None
    state: Literal["running", "quiet", "terminate"] = "running"
    active_job_ids: Annotated[list[str], Field(max_length=MAX_JOBS)] = []
    active_count: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    visibility_timeout_ms: VisibilityMs | None = None


class HeartbeatBody(WorkerBody):
    """BEAT (section 10.4; worker protocol, section 4). Without a worker it must name jobs."""

    worker_id: WorkerId | None = None
    active_jobs: (
        Annotated[list[JobId], Field(max_length=MAX_JOBS)]
        | Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
        | None
    ) = None
    active_job_ids: Annotated[list[JobId], Field(max_length=MAX_JOBS)] | None = None
    visibility_timeout_ms: VisibilityMs | None = None
    state: str | None = None


# ----------------------------------------------------------------------------- operators' bodies
class SelectionBody(Body):
    """Which workers a directive is for; one of ``queue``, ``label`` and ``all`` must be said."""

    queue: QueueName | None = None
    label: ShortText | None = None
    all: bool | None = None
    cursor: str | None = None


class DeadLetterFilterBody(Body):
    """Which dead letters are meant (ojs-dead-letter, section 9.1)."""

    queue: QueueName | None = None
    type: str | None = None
    error_type: str | None = None
    since: str | None = None
    until: str | None = None


class BulkBody(Body):
    """A bulk operation on dead letters (section 6.2): those of a filter, or those named."""

    confirm: bool
    filter: DeadLetterFilterBody | None = None
    ids: Annotated[list[JobId], Field(min_length=1, max_length=MAX_BULK)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_BULK)] = MAX_BULK
    cursor: str | None = None


class RetryBody(Body):
    """Changes to a dead letter on its way back (section 6.3)."""

    override: dict[str, Any] | None = None


# ------------------------------------------------------------------------------- job envelopes
class RetryPolicyBody(Body):
    """A retry policy (ojs-retry); intervals as ISO 8601 durations, or in milliseconds."""

    max_attempts: Annotated[int, Field(ge=0, le=1000)] | None = None
    initial_interval: str | None = None
    initial_interval_ms: Annotated[int, Field(ge=0)] | None = None
    backoff_coefficient: Annotated[float, Field(ge=1.0, le=1000.0)] | None = None
    backoff_strategy: str | None = None
    max_interval: str | None = None
    max_interval_ms: Annotated[int, Field(ge=0)] | None = None
    jitter: bool | None = None
    non_retryable_errors: list[str] | None = None
    on_exhaustion: str | None = None


class PurgeBody(Body):
    """Which jobs of a queue to purge (ojs-admin-api, section 6.5)."""

    states: Annotated[
        list[
            Literal[
                "available",
                "pending",
                "scheduled",
                "retryable",
                "completed",
                "cancelled",
                "discarded",
            ]
        ],
        Field(min_length=1, max_length=7),
    ]
    confirm: Literal[True]
    older_than: str | None = None
    cursor: Annotated[str, Field(max_length=2048)] | None = None


class BackpressureBody(Body):
    """The bound of a queue (ojs-backpressure, section 6.2); 0 for none."""

    max_depth: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    max_size_bytes: Annotated[int, Field(ge=0, le=0)] | None = None
    strategy: Literal["reject"] | None = None
    warning_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class RetentionBody(Body):
    """How long ended jobs of a queue stay, as ISO 8601 durations."""

    completed: str | None = None
    discarded: str | None = None
    cancelled: str | None = None


class QueueConfigBody(Body):
    """Settings of a queue (ojs-queue-config, section 6): ``null`` takes one away."""

    max_size: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    overflow_policy: Literal["reject"] | None = None
    warning_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    backpressure: BackpressureBody | None = None
    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    rate_limit: RateLimitBody | None = None
    visibility_timeout: Annotated[int, Field(ge=1, le=43_200)] | None = None
    default_timeout: Annotated[int, Field(ge=1, le=604_800)] | None = None
    default_retry: RetryPolicyBody | None = None
    retention: RetentionBody | None = None
    dead_letter_ttl: str | None = None
    allowed_job_types: Annotated[list[str], Field(min_length=1, max_length=100)] | None = None


class QueueBody(Body):
    """A new queue (ojs-queue-config, section 9.2)."""

    name: QueueName
    config: QueueConfigBody | None = None


class QueueDeletionBody(Body):
    """What becomes of the jobs that are left (ojs-queue-config, section 5.3)."""

    strategy: Literal["reject"]


class JobFilterBody(Body):
    """Which jobs are meant; all that is given must match (ojs-admin-api, sections 7.1 and 8)."""

    queue: QueueName | None = None
    state: str | list[str] | None = None
    type: Annotated[str, Field(max_length=256)] | None = None
    since: str | None = None
    until: str | None = None


class JobBulkBody(Body):
    """A change of the jobs of a filter (ojs-admin-api, section 8); at least one thing of it."""

    filter: JobFilterBody | None = None
    confirm: bool = False
    dry_run: bool = False
    limit: Annotated[int, Field(ge=1, le=1000)] = MAX_BULK
    cursor: Annotated[str, Field(max_length=2048)] | None = None


class RepairBody(Body):
    """The next part of a repair."""

    dry_run: bool = False
    cursor: Annotated[str, Field(max_length=2048)] | None = None


class WindowBody(Body):
    """So many starts in a period (ojs-rate-limiting, section 6.1)."""

    limit: Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
    period: Annotated[str, Field(examples=["PT1M"])]


class RateLimitBody(Body):
    """A limit on how jobs begin; cases write ``rate`` as a number, or ``max_per_second``."""

    key: Annotated[str, Field(max_length=256)] | None = None
    by: Annotated[
        str | list[str] | None,
        Field(description="Paths into args and meta, the values of which end the key."),
    ] = None
    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    rate: WindowBody | int | None = None
    throttle: WindowBody | None = None
    on_limit: Literal["wait", "reschedule", "drop"] | None = None


class RateLimitOverrideBody(Body):
    """What counts for a key instead of what jobs bring; null lifts it (section 10.2)."""

    concurrency: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None
    rate: WindowBody | int | None = None
    throttle: WindowBody | None = None
    on_limit: Literal["wait", "reschedule", "drop"] | None = None
    expires_at: str | None = None


class UniquePolicyBody(Body):
    """A unique policy (ojs-unique-jobs, section 2); ``key`` and ``within`` as some clients have."""

    keys: list[Literal["type", "queue", "args", "meta"]] | None = None
    args_keys: list[str] | None = None
    meta_keys: list[str] | None = None
    period: str | None = None
    states: list[str] | None = None
    on_conflict: Literal["reject", "replace", "replace_except_schedule", "ignore"] | None = None
    key: list[str] | str | None = None
    within: str | int | None = None


class OptionsBody(Body):
    """Enqueue options; each may stand at the top level of the envelope as well."""

    queue: QueueName | None = None
    priority: Annotated[int, Field(ge=-rules.PRIORITY_LIMIT, le=rules.PRIORITY_LIMIT)] | None = None
    timeout_ms: Annotated[int, Field(ge=0, le=rules.MAX_TIMEOUT_MS)] | None = None
    timeout: Annotated[int, Field(ge=0, le=rules.MAX_TIMEOUT_MS // 1000)] | None = None
    visibility_timeout_ms: VisibilityMs | None = None
    scheduled_at: str | None = None
    delay_until: str | None = None
    expires_at: str | None = None
    retry: RetryPolicyBody | None = None
    unique: UniquePolicyBody | None = None
    rate_limit: RateLimitBody | None = None
    tags: Annotated[list[str], Field(max_length=rules.MAX_TAGS)] | None = None
    pending: bool | None = None
    result_ttl: Annotated[int, Field(ge=rules.PERMANENT, le=rules.MAX_RESULT_TTL_S)] | None = None
    result_size_limit: Annotated[int, Field(ge=0, le=rules.LARGEST_INTEGER)] | None = None


class PushBody(OptionsBody):
    """PUSH: a job envelope, flat or with an ``options`` object (section 9.1)."""

    type: JobType
    args: list[Any]
    id: JobId | None = None
    specversion: str | None = None
    meta: dict[str, Any] | None = None
    schema_: Annotated[str | None, Field(alias="schema")] = None
    options: OptionsBody | None = None


class BatchBody(Body):
    """PUSH of a batch (section 9.2)."""

    jobs: Annotated[list[PushBody], Field(min_length=1, max_length=MAX_BATCH_JOBS)]


class BulkEnqueueBody(Body):
    """A bulk enqueue (ojs-bulk-operations, section 5)."""

    jobs: Annotated[list[PushBody], Field(min_length=1, max_length=1000)]
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None


class BulkFilterBody(Body):
    """Which jobs are meant (ojs-bulk-operations, section 6.1)."""

    queue: str | None = None
    type: str | None = None
    state: list[str] | None = None
    enqueued_before: str | None = None
    enqueued_after: str | None = None
    priority: int | None = None
    meta: dict[str, Any] | None = None


class BulkChangeBody(Body):
    """Jobs to be changed, by their ids or by a filter (ojs-bulk-operations, sections 6 to 8)."""

    job_ids: Annotated[list[JobId], Field(min_length=1, max_length=1000)] | None = None
    filter: BulkFilterBody | None = None
    atomicity: Literal["atomic", "partial"] = "partial"
    idempotency_key: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    cursor: str | None = None


# ------------------------------------------------------------------------------- workflows
class StepBody(Body):
    """A step: a job as PUSH takes it, or a workflow (then with ``steps`` or ``jobs``)."""

    type: str | None = None
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    options: OptionsBody | None = None
    id: Annotated[str, Field(max_length=MAX_STEP_NAME)] | None = None
    name: Annotated[str, Field(max_length=MAX_STEP_NAME)] | None = None
    depends_on: list[str] | None = None
    steps: list[StepBody] | None = None
    jobs: list[StepBody] | None = None
    callbacks: dict[Literal["on_complete", "on_success", "on_failure"], StepBody] | None = None


class WorkflowBody(Body):
    """A workflow: chain, group or batch (ojs-workflows), or steps with ``depends_on``."""

    type: Literal["chain", "group", "batch", "dag", "workflow"] | None = None
    id: Annotated[str, Field(pattern=f"^{WORKFLOW_ID_PATTERN}$")] | None = None
    name: Annotated[str, Field(max_length=MAX_STEP_NAME)] | None = None
    steps: list[StepBody] | None = None
    jobs: list[StepBody] | None = None
    callbacks: dict[Literal["on_complete", "on_success", "on_failure"], StepBody] | None = None
    options: OptionsBody | None = None


# ------------------------------------------------------------------------------- cron jobs
class CronTemplateBody(Body):
    """The job of a cron job: an envelope without an id."""

    type: JobType
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    options: OptionsBody | None = None


class CronBody(Body):
    """Registration of a cron job (ojs-cron, section 8.1).

    The expression stands in ``cron`` or in ``expression``; the job in ``job_template``, or in
    ``type``, ``args``, ``meta`` and ``options``.
    """

    name: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$", max_length=MAX_NAME_LENGTH)]
    cron: Annotated[str, Field(max_length=MAX_EXPRESSION_LENGTH, examples=["0 9 * * *"])] | None = (
        None
    )
    expression: Annotated[str, Field(max_length=MAX_EXPRESSION_LENGTH)] | None = None
    timezone: str | None = None
    overlap_policy: Literal["skip", "allow", "cancel_previous", "cancel", "enqueue"] | None = None
    enabled: bool | None = None
    description: Annotated[str, Field(max_length=MAX_DESCRIPTION)] | None = None
    job_template: CronTemplateBody | None = None
    type: JobType | None = None
    args: list[Any] | None = None
    meta: dict[str, Any] | None = None
    options: OptionsBody | None = None


class CronChangeBody(Body):
    """Enabling or disabling (ojs-cron, section 8.5)."""

    enabled: bool


# --------------------------------------------------------------------------------- schemas
SchemaVersion = (
    Annotated[int, Field(ge=0, lt=10**9)]
    | Annotated[str, Field(pattern=f"^{VERSION_PATTERN}$", max_length=MAX_VERSION_LENGTH)]
)


class SchemaPutBody(Body):
    """The schema of a version that the path names (job versioning, section 6.1)."""

    type: JobType | None = None
    version: SchemaVersion | None = None
    uri: Annotated[str, Field(max_length=MAX_URI_LENGTH)] | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    args_schema: dict[str, Any] | None = None


class SchemaBody(SchemaPutBody):
    """Registration of a schema (ojs-schema-registry, section 4.1; binding, section 15.2).

    The type stands in ``type`` or in ``job_type``, the schema in ``schema`` or ``args_schema``.
    """

    job_type: JobType | None = None
