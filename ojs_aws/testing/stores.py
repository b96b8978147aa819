"""Holds what the services keep in memory, as the ports that they need."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

from ojs_aws.client.timer import UuidV7
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.enqueuer import Enqueuer
from ojs_aws.services.backend.ports import Ports
from ojs_aws.services.jobs.fetch.service import in_turn
from ojs_aws.testing.memory import (
    FakeClock,
    MemoryAlarms,
    MemoryClientBuckets,
    MemoryCron,
    MemoryEvents,
    MemoryLimits,
    MemoryMarks,
    MemoryRegistry,
    MemorySchemas,
    MemoryUniqueJobs,
    MemoryWorkers,
    MemoryWorkflows,
)
from ojs_aws.testing.memory.api_keys import MemoryApiKeys
from ojs_aws.testing.memory.batches import MemoryBatches, MemoryBulkRequests
from ojs_aws.testing.memory.failure_groups import MemoryFailureGroups
from ojs_aws.testing.memory.indexed_jobs import IndexedStore
from ojs_aws.testing.memory.item_writes import Watched
from ojs_aws.testing.memory.messages import NoMessages
from ojs_aws.testing.memory.queue_settings import (
    MemoryDepths,
    MemoryPressures,
    MemorySettings,
    MemoryTallies,
)

Note: TypeAlias = Callable[[str, Any, Any], None]
"""Takes the key of an item, and the item before and after a write."""

STAGED_JOBS: Final = 100
"""Jobs in one part of a large batch."""


class MemoryStores:
    """Keeps jobs, queues, workflows and all else in memory, by the clock of a test."""

    def __init__(self, clock: FakeClock, job_changed: Note, changed: Note) -> None:
        """Start empty.

        :param job_changed: gets each write of a job.
        :param changed: gets each write of what else the stream reports.
        """
        self._clock = clock
        self._changed = changed
        self.jobs = IndexedStore(clock=clock, changed=job_changed)
        self.queues = MemoryRegistry(store=self.jobs)
        self.cron = MemoryCron(entries=Watched(changed))
        self.alarms = MemoryAlarms(clock)
        self.workflows = MemoryWorkflows(self.jobs, kept=Watched(changed))
        self.events = MemoryEvents()
        self.unique = MemoryUniqueJobs(self.jobs)
        self.batches = MemoryBatches(part_jobs=STAGED_JOBS)

    def ports(self) -> Ports:
        """Return the ports of the services; each part is made when it is first asked for."""
        return Ports(
            store=self.jobs,
            messages=NoMessages(self.queues.infos),
            queues=self.queues,
            workers=cache(MemoryWorkers),
            marks=cache(MemoryMarks),
            events=lambda: self.events,
            cron=lambda: self.cron,
            alarms=lambda: self.alarms,
            schemas=cache(MemorySchemas),
            unique=lambda: self.unique,
            workflows=lambda: self.workflows,
            limits=cache(lambda: MemoryLimits(self.jobs)),
            client_buckets=cache(MemoryClientBuckets),
            batches=lambda: self.batches,
            bulk=cache(MemoryBulkRequests),
            settings_book=cache(lambda: MemorySettings(self.jobs, kept=Watched(self._changed))),
            depths=cache(lambda: MemoryDepths(self.jobs)),
            tallies=cache(MemoryTallies),
            failure_groups=cache(MemoryFailureGroups),
            api_keys=cache(MemoryApiKeys),
            pressures=cache(lambda: MemoryPressures(reports=Watched(self._changed))),
            clock=self._clock,
            ids=UuidV7(),
            new_reservation_id=lambda: secrets.token_hex(6),
            enqueuing=lambda: Enqueuer(EnqueueChain()),
            both=in_turn,
        )
