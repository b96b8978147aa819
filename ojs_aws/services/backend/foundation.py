"""Lists the stores of a deployment, and makes what every service shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.stored_jobs.messages import JobMessages
from ojs_aws.services.workers import DrainState, VisibilityTimeouts

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.access import ApiKeys, ClientBuckets
    from ojs_aws.adapters.dynamodb.batches import Batches
    from ojs_aws.adapters.dynamodb.bulk import BulkRequests
    from ojs_aws.adapters.dynamodb.cron import CronEntries
    from ojs_aws.adapters.dynamodb.events.log import EventLog
    from ojs_aws.adapters.dynamodb.failure_groups import FailureGroups
    from ojs_aws.adapters.dynamodb.fairness import FairKeys
    from ojs_aws.adapters.dynamodb.jobs.store import JobStore
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.dynamodb.queues.bindings import QueueBindings
    from ojs_aws.adapters.dynamodb.queues.depths import Depths, Pressures
    from ojs_aws.adapters.dynamodb.queues.line_marks import LineMarks
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.adapters.dynamodb.queues.tallies import Tallies
    from ojs_aws.adapters.dynamodb.schemas import Schemas
    from ojs_aws.adapters.dynamodb.sequences import Sequences
    from ojs_aws.adapters.dynamodb.unique import UniqueJobs
    from ojs_aws.adapters.dynamodb.watermarks import Watermarks
    from ojs_aws.adapters.dynamodb.workers import WorkerPools, WorkerRegistry
    from ojs_aws.adapters.dynamodb.workflows.store import Workflows
    from ojs_aws.adapters.sqs import CronWakeUps, MessageQueue
    from ojs_aws.config import Settings
    from ojs_aws.domain.events import Announce
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.domain.queues import Triggers
    from ojs_aws.domain.runtime import Clock, IdGenerator, Parallel
    from ojs_aws.domain.sequences import Sequence as SequenceItem
    from ojs_aws.middleware.enqueuer import Enqueuer
    from ojs_aws.services.batches import BatchPush
    from ojs_aws.services.fairness import FairPlaces
    from ojs_aws.services.sequences.enqueue import SequenceBatches, SequenceEnqueue
    from ojs_aws.services.unique.admit import Uniqueness


class NoTriggers:
    """Stands for a deployment without Lambda workers."""

    def running(self, _queue: str) -> list[str]:
        """Return no triggers."""
        return []

    def stopped(self, _queue: str) -> list[str]:
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
    sequences: Callable[[], Sequences]
    workflows: Callable[[], Workflows]
    limits: Callable[[], Limits]
    client_buckets: Callable[[], ClientBuckets]
    batches: Callable[[], Batches]
    bulk: Callable[[], BulkRequests]
    queue_settings: Callable[[], QueueSettingsStore]
    queue_bindings: Callable[[], QueueBindings]
    depths: Callable[[], Depths]
    tallies: Callable[[], Tallies]
    tenant_tallies: Callable[[], Tallies]
    failure_groups: Callable[[], FailureGroups]
    api_keys: Callable[[], ApiKeys]
    pressures: Callable[[], Pressures]
    fair_keys: Callable[[], FairKeys]
    line_marks: Callable[[], LineMarks]
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
            tenant_tallies=cache(self.tenant_tallies),
            failure_groups=cache(self.failure_groups),
            pressures=cache(self.pressures),
            fair_keys=cache(self.fair_keys),
        )


class Foundation:
    """Holds what all services share.

    The storing of batches is part of it: whoever misses a job may have to finish that first.
    """

    def __init__(self, settings: Settings, stores: Stores) -> None:
        """Make only what needs no other service."""
        self.settings = settings
        self.stores = stores = stores.made_once()
        self.clock = stores.clock
        self.ids = stores.ids
        self.changer = JobChanger(
            stores.store,
            stores.clock,
            missing=self._missing,
            resume=lambda before, after: stores.sequences().resume(before, after),
            places=lambda: self.fair_places,
        )
        self.lines = dict(settings.wide_queues)
        self.job_messages = JobMessages(stores.messages, stores.queues, self.lines)
        self.default_timeout_ms = settings.default_timeout_s * 1000
        self.visibility = VisibilityTimeouts(
            settings.default_visibility_timeout_s * 1000,
            {name: seconds * 1000 for name, seconds in settings.queue_visibility_timeouts_s},
        )
        self.drain_state = DrainState()

    def _missing(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the jobs of committed batches that are not in their places yet."""
        return self.batch_push.rescue(job_ids)

    @cached_property
    def most_of_tenant(self) -> int | None:
        """Return how many jobs of a tenant may run that has no limit of its own."""
        if not self.settings.tenant_limits:
            return None
        from ojs_aws.domain.tenants import limits_of_all  # few deployments have any

        return limits_of_all(self.settings.tenant_limits).max_concurrency

    @cached_property
    def fair_places(self) -> FairPlaces:
        """Return the service that gives jobs of fair queues their places."""
        from ojs_aws.services.fairness import FairPlaces

        return FairPlaces(self.stores.fair_keys, self.clock)

    @cached_property
    def events(self) -> EventLog:
        """Return the log of lifecycle events."""
        return self.stores.events()

    @cached_property
    def batch_push(self) -> BatchPush:
        """Return the service that stores batches beyond one transaction."""
        from ojs_aws.services.batches import BatchPush
        from ojs_aws.services.limits.check import note_limits

        def note(jobs: Sequence[JobRecord]) -> None:
            note_limits(self.stores.limits, jobs, self.clock.now())

        return BatchPush(
            store=self.stores.store,
            batches=self.stores.batches(),
            job_messages=self.job_messages,
            clock=self.clock,
            unique=lambda: self.unique,
            note=note,
            sequence_batches=lambda: self._sequence_batches,
            parallel=self.stores.parallel,
        )

    @cached_property
    def unique(self) -> Uniqueness:
        """Return the service that admits jobs with a unique policy."""
        from ojs_aws.services.unique.admit import Uniqueness

        def decide(batch_id: str) -> bool:
            return self.batch_push.batches.decide(batch_id, None, self.clock.now()).is_committed

        return Uniqueness(self.stores.unique(), self.changer, decide, self._sequence_enqueue)

    def _sequence_enqueue(self) -> SequenceEnqueue:
        from ojs_aws.services.sequences.enqueue import SequenceEnqueue

        return SequenceEnqueue(self.stores.sequences(), self.clock, self.settle_batches)

    @cached_property
    def _sequence_batches(self) -> SequenceBatches:
        from ojs_aws.services.sequences.enqueue import SequenceBatches

        stores, enqueue = self.stores, self._sequence_enqueue()
        return SequenceBatches(stores.sequences(), enqueue, stores.unique(), self.clock)

    def settle_batches(self, seen: SequenceItem) -> bool:
        """Put the jobs of batches that a sequence names there; return False if there are none."""
        batches = self.batch_push
        return self._sequence_batches.settle(seen, batches.batches, batches.place)


class FeatureServices:
    """Holds what the services of a feature share with all others."""

    def __init__(self, shared: Foundation) -> None:
        """Make nothing yet."""
        self._shared = shared
