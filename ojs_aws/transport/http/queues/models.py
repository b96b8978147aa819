"""Declares the requests and answers about queues."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias

from pydantic import Field, create_model
from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.domain.queues.setting_rows import BACKPRESSURE, RETENTION, SETTINGS, SettingRow
from ojs_aws.transport.http.answers import JsonObject, Pagination, Times, Timestamp
from ojs_aws.transport.http.calls import JsonOf
from ojs_aws.transport.http.requests import Body, QueueName, RateLimitBody, RetryPolicyBody


class QueuePurgeBody(Body):
    """Chooses the jobs of a queue to purge, where the path confirms it."""

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
    older_than: str | None = None


class PurgeBody(QueuePurgeBody):
    """Chooses the jobs of a queue to purge (ojs-admin-api, section 6.5).

    ``confirm`` must be true, unless ``dry_run`` is: then the jobs are only counted.
    """

    confirm: bool = False
    dry_run: bool = False
    cursor: Annotated[str, Field(max_length=2048)] | None = None


_GROUPS: Final[dict[str, Any]] = {"rate_limit": RateLimitBody, "default_retry": RetryPolicyBody}


def _type_of(row: SettingRow) -> Any:
    """Return the type of a setting's values, as requests give them."""
    if row.only is not None:
        return Literal[row.only]
    if row.kind is list:
        return Annotated[list[str], Field(min_length=row.least, max_length=row.most)]
    if row.kind in (int, float):
        return Annotated[row.kind, Field(ge=row.least, le=row.most)]
    return _GROUPS.get(row.name, row.kind)


def _optional(name: str, doc: str, **types: Any) -> Any:
    members: dict[str, Any] = {key: (each | None, None) for key, each in types.items()}
    return create_model(name, __base__=Body, __module__=__name__, __doc__=doc, **members)


_GROUPS["backpressure"] = _optional(
    "BackpressureBody",
    "The bound of a queue (ojs-backpressure, section 6.2); 0 for none.",
    **{inside: _type_of(SETTINGS[name]) for inside, name in BACKPRESSURE.items()},
)
_GROUPS["retention"] = _optional(
    "RetentionBody",
    "How long ended jobs of a queue stay, as durations: 7d, or P7D.",
    **dict.fromkeys(RETENTION, str),
)
QueueConfigBody: Any = _optional(
    "QueueConfigBody",
    "Settings of a queue (ojs-queue-config, section 6): ``null`` takes one away.",
    **{row.name: _type_of(row) for row in SETTINGS.values() if row.doc or row.only is not None},
)


class QueueBody(Body):
    """Creates a queue (ojs-queue-config, section 9.2)."""

    name: QueueName
    config: QueueConfigBody | None = None


class QueueDeletionBody(Body):
    """What becomes of the jobs that are left (ojs-queue-config, section 5.3)."""

    strategy: Literal["reject"]


QueueStatus: TypeAlias = Literal["active", "paused", "draining"]


class Queue(TypedDict):
    """Says what the registry knows of a queue."""

    name: str
    status: QueueStatus
    state: QueueStatus
    paused: bool
    paused_at: NotRequired[Timestamp]
    resumed_at: NotRequired[Timestamp]
    created_at: NotRequired[Timestamp]
    oldest_available_at: NotRequired[Timestamp]


class CountedQueue(Queue):
    """Adds the numbers of a queue's jobs; ``estimated`` names those that are lower bounds."""

    counts: dict[str, int]
    depth: int
    estimated: list[str]


class QueuesAnswer(TypedDict):
    """Shows a page of the queues."""

    queues: list[Queue]
    pagination: Pagination
    total: int


class CountedQueuesAnswer(TypedDict):
    """Shows a page of the queues, with the numbers of their jobs."""

    items: JsonOf[list[CountedQueue]]
    queues: JsonOf[list[CountedQueue]]
    pagination: Pagination
    total: int


class QueueActivity(Times):
    """Says what a queue did in the last hour."""

    stats: JsonObject
    throughput: dict[str, float]


class SettingInstants(TypedDict, total=False):
    """Says when the settings of a queue were made and changed."""

    created_at: Timestamp
    updated_at: Timestamp


class QueueSettingsAnswer(SettingInstants):
    """Shows the settings that apply to a queue; ``set`` are its own."""

    config: JsonObject
    configuration: JsonObject
    set: JsonObject


class QueueDetail(CountedQueue, QueueActivity, QueueSettingsAnswer):
    """Shows a queue with its numbers and settings."""


class QueueAnswer(QueueDetail):
    """Shows one queue, flat and in a wrapper."""

    queue: JsonOf[QueueDetail]


class ConfiguredQueueAnswer(QueueSettingsAnswer):
    """Shows a queue with its settings, or the default policy, which has no state."""

    name: str
    queue: str
    status: NotRequired[QueueStatus]
    state: NotRequired[QueueStatus]
    paused: NotRequired[bool]
    paused_at: NotRequired[Timestamp]


class ChangedQueueAnswer(Queue):
    """Shows a queue after a pause or a resume, flat and in a wrapper."""

    queue: Queue


class QueueNumbers(Queue, total=False):
    """Adds the numbers of ``stats`` to a queue, such as these."""

    available: int
    active: int
    completed: int
    depth: int
    estimated: list[str]


class QueueStatsAnswer(QueueNumbers, QueueActivity):
    """Shows the numbers of a queue, in ``stats`` and flat."""

    queue: QueueNumbers
    computed_at: Timestamp


class PriorityCount(TypedDict):
    """Says how many available jobs have a priority."""

    priority: int
    count: int


class PriorityStatsAnswer(TypedDict):
    """Counts the available jobs of a queue by priority."""

    queue: str
    counts_by_priority: dict[str, int]
    distribution: list[PriorityCount]
    total: int
    is_exact: bool


class PurgeAnswer(TypedDict):
    """Says how many jobs were purged."""

    purged_count: int
    deleted: int
    cancelled: int
    states: list[JobState]
    has_more: bool
    dry_run: NotRequired[bool]
    next_cursor: NotRequired[str]


class QueueDeletionAnswer(TypedDict):
    """Says that a queue was deleted."""

    queue: str
    name: str
    strategy: str
    jobs_affected: int
    state: str
    deleted: bool


class BindingRetryEntry(TypedDict):
    """Shows the errors after which no retry helps."""

    non_retryable_errors: list[str]


class BindingConfigEntry(TypedDict):
    """Shows how the jobs of a binding run; what is left out is as without a config."""

    max_concurrency: NotRequired[int]
    timeout_ms: NotRequired[int]
    retry: NotRequired[BindingRetryEntry]


class Binding(TypedDict):
    """Shows a function, an endpoint or tasks that a queue is, or may be, bound to.

    ``is_registered`` says that ``job_types`` were registered, and are not the stack's.
    """

    name: str
    queue: QueueName
    kind: Literal["lambda", "https", "ecs"]
    job_types: list[str]
    endpoint: NotRequired[str]
    config: NotRequired[BindingConfigEntry]
    is_registered: bool
    state: Literal["active", "suspended"]
    reason: NotRequired[str]
    suspended_at: NotRequired[Timestamp]


class BindingAnswer(Binding):
    """Shows a binding, flat and in a wrapper."""

    binding: Binding


class BindingsAnswer(TypedDict):
    """Shows the bindings of a queue."""

    items: JsonOf[list[Binding]]
    bindings: JsonOf[list[Binding]]
