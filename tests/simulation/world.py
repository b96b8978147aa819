"""A backend over the model in memory, with a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from ojs_aws.config import Settings
from ojs_aws.domain.job import JobRecord
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.ports import (
    Batches,
    BulkRequests,
    ClientBuckets,
    CronAlarms,
    CronEntries,
    JobStore,
    Limits,
    Marks,
    MessageQueue,
    QueueRegistry,
    Schemas,
    Triggers,
    UniqueJobs,
    WorkerRegistry,
    Workflows,
)
from ojs_aws.services.backend import Backend
from ojs_aws.services.backend.ports import Ports
from ojs_aws.services.jobs.fetch.service import in_turn
from ojs_aws.services.queues.counters import Changed
from ojs_aws.testing.deployment import CountingIds, FakeClock, counting
from tests.model import (
    MemoryAlarms,
    MemoryClientBuckets,
    MemoryCron,
    MemoryEvents,
    MemoryLimits,
    MemoryMarks,
    MemoryQueue,
    MemoryRegistry,
    MemorySchemas,
    MemoryStore,
    MemoryTriggers,
    MemoryUniqueJobs,
    MemoryWorkers,
    MemoryWorkflows,
)
from tests.model.api_keys import MemoryApiKeys
from tests.model.batches import MemoryBatches, MemoryBulkRequests
from tests.model.failure_groups import MemoryFailureGroups
from tests.model.item_writes import Watched
from tests.model.queue_settings import (
    MemoryDepths,
    MemoryPressures,
    MemorySettings,
    MemoryTallies,
)
from tests.simulation.faults import Faults, Observed


@dataclass
class World:
    """The model and the services over it."""

    clock: FakeClock = field(default_factory=FakeClock)
    store: MemoryStore = field(default_factory=MemoryStore)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    workers: MemoryWorkers = field(default_factory=MemoryWorkers)
    cron: MemoryCron = field(default_factory=MemoryCron)
    schemas: MemorySchemas = field(default_factory=MemorySchemas)
    marks: MemoryMarks = field(default_factory=MemoryMarks)
    triggers: MemoryTriggers = field(default_factory=MemoryTriggers)
    events: MemoryEvents = field(default_factory=MemoryEvents)
    batches: MemoryBatches = field(default_factory=MemoryBatches)
    bulk: MemoryBulkRequests = field(default_factory=MemoryBulkRequests)
    workflows: MemoryWorkflows = field(default_factory=lambda: MemoryWorkflows(MemoryStore()))
    settings: Settings = field(default_factory=Settings)
    faults: Faults = field(default_factory=Faults)
    processor_s: Callable[[], float] = field(default=lambda: 0.0)

    def __post_init__(self) -> None:
        """Put the services together."""
        self.messages = MemoryQueue(self.clock)
        self.alarms = MemoryAlarms(self.clock)
        self.registry.store = self.store
        self.unique = MemoryUniqueJobs(self.store)
        self.workflows.store = self.store
        self.limits = MemoryLimits(self.store)
        self.client_buckets = MemoryClientBuckets()
        self.book = MemorySettings(self.store)
        self.depths = MemoryDepths(self.store)
        self.pressures = MemoryPressures()
        self.tallies = MemoryTallies()
        self.failure_groups = MemoryFailureGroups()
        self.api_keys = MemoryApiKeys()
        self.backend = Backend(
            self.settings,
            Ports(
                store=cast("JobStore", Observed(self.store, self.faults)),
                messages=cast("MessageQueue", Observed(self.messages, self.faults)),
                queues=cast("QueueRegistry", Observed(self.registry, self.faults)),
                workers=lambda: cast("WorkerRegistry", Observed(self.workers, self.faults)),
                marks=lambda: cast("Marks", Observed(self.marks, self.faults)),
                events=lambda: self.events,
                cron=lambda: cast("CronEntries", Observed(self.cron, self.faults)),
                schemas=lambda: cast("Schemas", Observed(self.schemas, self.faults)),
                alarms=lambda: cast("CronAlarms", Observed(self.alarms, self.faults)),
                triggers=lambda: cast("Triggers", Observed(self.triggers, self.faults)),
                unique=lambda: cast("UniqueJobs", Observed(self.unique, self.faults)),
                workflows=lambda: cast("Workflows", Observed(self.workflows, self.faults)),
                limits=lambda: cast("Limits", Observed(self.limits, self.faults)),
                client_buckets=lambda: cast(
                    "ClientBuckets", Observed(self.client_buckets, self.faults)
                ),
                batches=lambda: cast("Batches", Observed(self.batches, self.faults)),
                bulk=lambda: cast("BulkRequests", Observed(self.bulk, self.faults)),
                settings_book=lambda: self.book,
                depths=lambda: self.depths,
                pressures=lambda: self.pressures,
                tallies=lambda: self.tallies,
                failure_groups=lambda: self.failure_groups,
                api_keys=lambda: self.api_keys,
                clock=self.clock,
                ids=CountingIds(),
                new_reservation_id=counting("reservation"),
                enqueuing=lambda: Enqueuer(EnqueueChain()),
                both=in_turn,
                processor_s=self.processor_s,
            ),
        )


def count_changes(world: World) -> None:
    """Count from now on what happens to jobs, as the stream's consumer does."""

    def count(_: str, before: JobRecord | None, after: JobRecord | None) -> None:
        job = after or before
        if job is not None and (after is None or before is None or before.state is not after.state):
            number = f"{job.id}-{job.version}-{after is None}"
            world.backend.queues.counters([Changed(number, world.clock.now(), before, after)])

    watched: Watched[JobRecord] = Watched(count)
    watched |= world.store.jobs
    world.store.jobs = watched
