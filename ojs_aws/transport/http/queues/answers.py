"""Declares the answers about queues."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from ojs_aws.domain.job import JobState
from ojs_aws.transport.http.answers import JsonObject, Pagination, Times, Timestamp
from ojs_aws.transport.http.json_of import JsonOf

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
