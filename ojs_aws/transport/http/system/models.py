"""Declares the answers about the server and the whole deployment."""

from __future__ import annotations

from typing import Literal, NotRequired, Required

from typing_extensions import TypedDict

from ojs_aws.services.system.queue_findings import FindingCode, Severity
from ojs_aws.transport.http.answers import JsonObject, Throughput, Times, Timestamp


class Release(TypedDict):
    """Names the release of this implementation."""

    name: str
    version: str


class Implementation(Release):
    """Names this implementation."""

    language: str


class Authentication(TypedDict):
    """Says which credentials the deployment asks for."""

    required: bool
    schemes: list[str]


class EventGuarantees(TypedDict):
    """Declares the guarantees of events (ojs-events, section 9)."""

    delivery: str
    ordering: str
    retention_seconds: int


class ResultLimits(TypedDict):
    """Declares the limits of results (ojs-results, section 7)."""

    max_size_bytes: int
    max_ttl_seconds: int
    max_wait_ms: int


class PayloadLimits(TypedDict):
    """Declares the limits of payloads (ojs-payload-limits, section 8)."""

    max_envelope_bytes: int
    max_meta_bytes: int
    max_queue_name_bytes: int
    max_job_type_bytes: int
    max_request_bytes: int
    max_batch_jobs: int
    supported_compression: list[str]
    external_references: bool
    chunking: bool
    per_queue_limits: bool


class DisasterRecovery(TypedDict):
    """Says what survives a failure (ojs-disaster-recovery, sections 4.4, 5.3 and 6.1)."""

    durability_level: int
    replication_mode: Literal["synchronous", "asynchronous"]
    ha_mode: Literal["none", "active-passive", "active-active"]
    backup: str


class ManifestAnswer(TypedDict):
    """Says what works (HTTP binding, section 21)."""

    specversion: str
    ojs_version: str
    implementation: Implementation
    conformance_level: int
    conformance_tier: str
    protocols: list[str]
    backend: str
    capabilities: dict[str, bool]
    extensions: list[str]
    authentication: Authentication
    events: EventGuarantees
    disaster_recovery: DisasterRecovery
    unique_jobs: dict[str, str]
    unique_job_strength: str
    results: ResultLimits
    payload_limits: PayloadLimits
    endpoints: dict[str, str]


class TableHealth(TypedDict, total=False):
    """Says whether the table answers, or why not."""

    status: Required[Literal["ok", "unhealthy"]]
    error: str


class BackendHealth(TableHealth):
    """Says how fast the table answers, too."""

    type: str
    latency_ms: int


class SweepHealth(TypedDict):
    """Says when the last sweep ended, and how late it was."""

    status: Literal["ok", "late"]
    last_run_at: Timestamp
    lag_ms: int


class HealthAnswer(TypedDict):
    """Says whether the server works."""

    status: Literal["ok", "degraded"]
    version: str
    uptime_seconds: int
    backend: BackendHealth
    sweep: NotRequired[SweepHealth]


class TotalsAnswer(Times):
    """Says what all queues hold and did recently; ``estimated`` names lower bounds."""

    queues: int
    queues_paused: int
    queues_counted: int
    workers: int
    workers_by_state: dict[str, int]
    jobs: dict[str, int]
    throughput: Throughput
    is_exact: bool
    estimated: list[str]
    uptime_seconds: int
    computed_at: Timestamp


class OverviewQueue(Times):
    """Says what a queue holds, and what it did in the last five minutes."""

    name: str
    paused: bool
    counts: dict[str, int]
    depth: int
    oldest_available_at: NotRequired[Timestamp]
    throughput: Throughput


class EventsHealth(TypedDict):
    """Says how late changes of jobs were counted of late, and when the last ones were."""

    last_at: Timestamp
    lag_ms: int


class OverviewAnswer(TypedDict):
    """Shows what operators look at first: all jobs, the busiest queues, and the sweep."""

    totals: TotalsAnswer
    queues: list[OverviewQueue]
    has_more: bool
    oldest_available_at: NotRequired[Timestamp]
    oldest_available_queue: NotRequired[str]
    sweep: NotRequired[SweepHealth]
    events: NotRequired[EventsHealth]


class Check(TypedDict):
    """Says what was looked at, and what its state is."""

    name: str
    message: str


class FoundProblem(TypedDict):
    """Describes one thing that needs attention."""

    code: FindingCode
    severity: Severity
    check: str
    message: str
    hint: str
    data: JsonObject


class FindingsAnswer(TypedDict):
    """Says what needs attention, the most severe findings first, and what was checked."""

    as_of: Timestamp
    findings: list[FoundProblem]
    checks: list[Check]


class ErrorGroup(TypedDict):
    """Counts the failures of one error type and one kind of message; at least so many.

    In ``message``, ``*`` stands for values; ``example`` is the message of the last failure.
    """

    type: str
    message: str
    example: str
    count: int
    first_seen: Timestamp
    last_seen: Timestamp
    queues: list[str]
    job_ids: list[str]
    counts: list[int]


class ErrorsAnswer(TypedDict):
    """Says how jobs failed, the largest group first; all counts are lower bounds.

    ``counts`` of a group are those of each window of ``window_ms`` since ``since``.
    """

    since: Timestamp
    until: Timestamp
    window_ms: int
    groups: list[ErrorGroup]
    ungrouped: int
    has_more: bool
    is_exact: bool


class Bottleneck(TypedDict):
    """Describes a deep queue, for the command line."""

    name: str
    depth: int
    avg_duration_ms: float
    error_rate: float


class MetricsAnswer(TypedDict):
    """Gives the metrics of the command line."""

    uptime_seconds: int
    jobs_enqueued_total: int
    jobs_completed_total: int
    jobs_failed_total: int
    jobs_active: int
    queues_active: int
    workers_active: int
    avg_latency_ms: float
    throughput_per_second: float


class HistoryPoint(Times):
    """Says what was done in a period."""

    timestamp: Timestamp
    enqueued: int
    processed: int
    completed: int
    failed: int
    retried: int
    cancelled: int
    latency_p50_ms: int | None
    latency_p99_ms: int | None
    avg_wait_ms: int | None
    avg_duration_ms: int | None
    avg_latency_ms: int | None


class HistoryAnswer(TypedDict):
    """Says what was done in each period; ``growth``, by how many jobs each queue grew in it."""

    period: str
    data: list[HistoryPoint]
    data_points: list[HistoryPoint]
    growth: NotRequired[dict[str, list[int]]]


class ConfigAnswer(TypedDict):
    """Shows the backend's settings."""

    implementation: Release
    specversion: str
    settings: JsonObject


class RepairAnswer(TypedDict):
    """Says what a part of a repair did."""

    dry_run: bool
    queues: list[str]
    ready: int
    waiting: int
    paused: int
    workflows: int
    has_more: bool
    next_cursor: NotRequired[str]
