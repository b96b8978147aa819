"""Lists the stores of a deployment, and what else the services need from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.access import ApiKeys, ClientBuckets
    from ojs_aws.adapters.dynamodb.batches import Batches
    from ojs_aws.adapters.dynamodb.bulk import BulkRequests
    from ojs_aws.adapters.dynamodb.cron import CronEntries
    from ojs_aws.adapters.dynamodb.events.log import EventLog
    from ojs_aws.adapters.dynamodb.failure_groups import FailureGroups
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.dynamodb.queues.depths import Depths, Pressures
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
    from ojs_aws.adapters.dynamodb.schemas import Schemas
    from ojs_aws.adapters.dynamodb.unique import UniqueJobs
    from ojs_aws.adapters.dynamodb.watermarks import Watermarks
    from ojs_aws.adapters.dynamodb.workers import WorkerPools, WorkerRegistry
    from ojs_aws.adapters.dynamodb.workflows.store import Workflows
    from ojs_aws.adapters.sqs.messages import CronWakeUps, MessageQueue
    from ojs_aws.domain.clock import Clock, IdGenerator
    from ojs_aws.domain.event_log import Announce
    from ojs_aws.domain.parallel import Parallel
    from ojs_aws.domain.queues.state import Triggers
    from ojs_aws.middleware.enqueuer import Enqueuer


class NoTriggers:
    """Stands for a deployment without Lambda workers."""

    def running(self, _queue: str) -> list[str]:
        """Return no triggers."""
        return []

    def switch(self, _ids: Sequence[str], *, is_on: bool) -> None:
        """Switch nothing."""


@dataclass(frozen=True, kw_only=True)
class Stores:
    """Holds everything the services need from the world; rarely needed parts are made by a call."""

    store: JobStore
    messages: MessageQueue
    queues: QueueRegistry
    workers: Callable[[], WorkerRegistry]
    pools: Callable[[], WorkerPools]
    watermarks: Callable[[], Watermarks]
    events: Callable[[], EventLog]
    cron: Callable[[], CronEntries]
    wake_ups: Callable[[], CronWakeUps]
    schemas: Callable[[], Schemas]
    unique: Callable[[], UniqueJobs]
    workflows: Callable[[], Workflows]
    limits: Callable[[], Limits]
    client_buckets: Callable[[], ClientBuckets]
    batches: Callable[[], Batches]
    bulk: Callable[[], BulkRequests]
    queue_settings: Callable[[], QueueSettingsStore]
    depths: Callable[[], Depths]
    tallies: Callable[[], Tallies]
    failure_groups: Callable[[], FailureGroups]
    api_keys: Callable[[], ApiKeys]
    pressures: Callable[[], Pressures]
    clock: Clock
    ids: IdGenerator
    new_reservation_id: Callable[[], str]
    enqueuing: Callable[[], Enqueuer]
    parallel: Parallel
    announce: Callable[[], Announce] = lambda: lambda _: ()
    triggers: Callable[[], Triggers] = NoTriggers
    pause: Callable[[float], None] = lambda _: None
    processor_s: Callable[[], float] = lambda: 0.0

    def made_once(self) -> Stores:
        """Return these stores; what several services ask for is made by the first of them."""
        return replace(
            self,
            limits=cache(self.limits),
            queue_settings=cache(self.queue_settings),
            depths=cache(self.depths),
            tallies=cache(self.tallies),
            failure_groups=cache(self.failure_groups),
            pressures=cache(self.pressures),
        )
