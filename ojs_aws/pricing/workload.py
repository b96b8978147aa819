"""Describes a month's workload, the input of an estimate; lists the prices of AWS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MONTH_HOURS: Final = 30 * 24
MONTH_S: Final = 3600 * MONTH_HOURS
BUSY_RATE: Final = 200.0
"""Jobs a second at which the tables of the docs call a backend busy: full batches of the stream."""

RANDOM_TOKENS: Final = 1.9
ORDINARY_JSON: Final = 5.5
"""How far deflating shortens JSON of random hexadecimal tokens, and JSON that repeats itself."""

NEW_TABLE_PARTITIONS: Final = 4
"""Partitions that a new table on demand has at least: 4,000 write units a second, 1,000 each."""
PRICED_ON: Final = "2026-11"
REGION: Final = "us-east-1"
PRICES: Final[Mapping[str, float]] = {
    "write unit": 0.625e-6,
    "read unit": 0.125e-6,
    "SQS request": 0.40e-6,
    "Lambda request": 0.20e-6,
    "Lambda GB-second": 13.3334e-6,
    "HTTP API request": 1.00e-6,
    "bus event": 1.00e-6,
    "S3 PUT": 5.00e-6,
    "S3 GET": 0.40e-6,
    "S3 GB-month": 0.023,
    "table GB-month": 0.25,
    "backup GB-month": 0.20,
    "KMS request": 3.00e-6,
    "log GB": 0.50,
    "metric": 0.30,
    "alarm": 0.10,
    "dashboard": 3.00,
    "state transition": 25.00e-6,
    "durable operation": 8.00e-6,
    "express request": 1.00e-6,
    "express GB-second": 16.67e-6,
    "vCPU-hour": 0.03238,
    "task GB-hour": 0.00356,
    "address-hour": 0.005,
    "load balancer-hour": 0.0225,
    "LCU-hour": 0.008,
    "small node-hour": 0.0256,
    "large node-hour": 0.1264,
    "endpoint-hour": 0.01,
    "endpoint GB": 0.01,
}
"""Dollars: DynamoDB on demand, SQS standard queues, Lambda on arm64, API Gateway HTTP APIs,
EventBridge custom events, KMS, CloudWatch logs, metrics, alarms and dashboards. From the state
transition on, what only the alternatives need: Step Functions, durable functions, Fargate on arm64
(also for jobs in ECS tasks), public IPv4 addresses, application load balancers, ElastiCache for
Valkey (cache.t4g.small, cache.m7g.large). Then VPC endpoints:
an interface in one zone, and what passes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Describes what a backend has to do in a month.

    :ivar jobs: jobs enqueued.
    :ivar rate: jobs a second while they come; None spreads them evenly over the month.
    :ivar size_bytes: of an envelope's JSON.
    :ivar compression: how far deflating shortens that JSON: 1.9 for random tokens, 5.5 for
        ordinary JSON, 1 for none.
    :ivar failure_rate: failed attempts for each job, 0.02 for two in a hundred.
    :ivar uses_http_workers: workers poll the API, instead of being invoked by SQS.
    :ivar uses_bindings: a dispatcher hands jobs to functions of any language.
    :ivar uses_tasks: a dispatcher starts an ECS task for each job.
    :ivar uses_endpoints: a function delivers jobs to endpoints that are registered at the API; the
        time in which it waits for their answers is that of a handler.
    :ivar task_vcpu: processors of such a task, on Fargate.
    :ivar task_gb: its memory.
    :ivar is_direct: jobs are enqueued with AWS credentials (``Client.direct``), without the API.
    :ivar empty_polls: polls of HTTP workers that find nothing; an idle worker makes some 1.7
        million a month.
    :ivar heartbeats: heartbeats over HTTP for each job.
    :ivar queues: how many queues there are.
    :ivar job_ms: what a handler takes, for Lambda workers and tasks; 0 leaves their time out.
    :ivar worker_mb: memory of the worker function.
    :ivar retention_days: how long ended jobs are kept.
    :ivar has_bus: the ends of jobs go to the event bus, as they do by default.
    :ivar uses_gateway: senders and workers use the API's URL, behind API Gateway, as they do by
        default, and not the job endpoint, whose requests cost nothing beside the function.
    :ivar has_access_log: the gateway logs each request, as it does by default.
    :ivar stream_window_s: how long the stream's changes are gathered, as
        ``stream_batching_window_s`` of the stack says.
    :ivar shards: of the table's stream, one for each partition of the table: a new table has four,
        and each split adds one that stays.
    :ivar has_dashboard: the stack has its CloudWatch dashboard.
    :ivar has_alarms: the stack has its alarms, as it does by default.
    :ivar has_account_key: the account's own KMS key encrypts the table, as it does by default, or
        one of yours; AWS bills its use. A key that AWS owns costs nothing.
    :ivar unique: the share of jobs with a unique policy, 0.5 for half of them; likewise the others.
    :ivar steps: the share that are steps of workflows, begun one after the other.
    :ivar limited: the share that need a place in a limit's bucket.
    :ivar batched: the share that is enqueued in batches.
    :ivar batch_jobs: jobs of such a batch.
    :ivar scheduled: the share that begins later than it is enqueued.
    """

    jobs: float = 1_000_000
    rate: float | None = None
    size_bytes: int = 512
    compression: float = RANDOM_TOKENS
    failure_rate: float = 0.0
    uses_http_workers: bool = False
    uses_bindings: bool = False
    uses_tasks: bool = False
    uses_endpoints: bool = False
    task_vcpu: float = 1.0
    task_gb: float = 2.0
    is_direct: bool = False
    empty_polls: float = 0.0
    heartbeats: float = 0.0
    queues: int = 1
    job_ms: float = 0.0
    worker_mb: int = 512
    retention_days: float = 7.0
    has_bus: bool = True
    uses_gateway: bool = True
    has_access_log: bool = True
    stream_window_s: float = 1.0
    shards: int = NEW_TABLE_PARTITIONS
    has_dashboard: bool = False
    has_alarms: bool = True
    has_account_key: bool = True
    unique: float = 0.0
    steps: float = 0.0
    limited: float = 0.0
    batched: float = 0.0
    batch_jobs: int = 1000
    scheduled: float = 0.0

    def __post_init__(self) -> None:
        """Refuse impossible numbers.

        :raises ValueError: a number is negative, a share is above 1, or the compression, the jobs
            of a batch or the shards are below 1; or workers poll and are dispatched to.
        """
        kinds = (self.uses_http_workers, self.uses_bindings, self.uses_tasks, self.uses_endpoints)
        if sum(kinds) > 1:
            raise ValueError(
                "Jobs are fetched over HTTP, or their queues are bound to functions, tasks or "
                "endpoints: they are run by one of these."
            )
        shares = (self.unique, self.steps, self.limited, self.batched, self.scheduled)
        numbers = (self.jobs, self.rate or 0.0, self.size_bytes, self.failure_rate, self.queues)
        more = (self.job_ms, self.retention_days, self.heartbeats, self.empty_polls)
        task = (self.task_vcpu, self.task_gb)
        if min(*numbers, *more, *task, *shares, self.stream_window_s) < 0:
            raise ValueError("A workload has no negative numbers.")
        if max(shares) > 1:
            raise ValueError("A share is 1 at most.")
        if min(self.compression, self.batch_jobs, self.shards) < 1:
            raise ValueError("The compression, the jobs of a batch and the shards are at least 1.")

    @property
    def attempts(self) -> float:
        """Return the number of executions, failed ones included."""
        return self.jobs * (1 + self.failure_rate)

    @property
    def failures(self) -> float:
        """Return the number of executions that fail."""
        return self.jobs * self.failure_rate

    @property
    def jobs_per_second(self) -> float:
        """Return the jobs per second while they arrive."""
        return self.jobs / MONTH_S if self.rate is None else self.rate


@dataclass(frozen=True, slots=True)
class Line:
    """Holds one line of an estimate.

    :ivar what: what is paid for.
    :ivar amount: how many units in a month.
    :ivar unit: name of the price.
    """

    what: str
    amount: float
    unit: str

    @property
    def dollars(self) -> float:
        """Return the dollars a month."""
        return self.amount * PRICES[self.unit]
