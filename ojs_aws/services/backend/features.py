"""Makes the services of the smaller features when they are first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.foundation import FeatureServices

if TYPE_CHECKING:
    from ojs_aws.services.access.callers import CompletionEvents
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.backend.jobs import JobServices
    from ojs_aws.services.bulk import BulkEngine
    from ojs_aws.services.bulk.by_filter import BulkByFilter
    from ojs_aws.services.bulk.changes import BulkChanges
    from ojs_aws.services.bulk.enqueue import BulkEnqueue, IdempotentRequests
    from ojs_aws.services.cron.scheduler import CronScheduler
    from ojs_aws.services.cron.service import Cron
    from ojs_aws.services.dead_letters.search import DeadLetterBulk, DeadLetterSearch
    from ojs_aws.services.dead_letters.service import DeadLetters
    from ojs_aws.services.dead_letters.upkeep import DeadLetterUpkeep
    from ojs_aws.services.outcomes.progress import Checkpoints, JobProgress
    from ojs_aws.services.outcomes.results import Results
    from ojs_aws.services.workers.heartbeat import Heartbeat
    from ojs_aws.services.workers.pools import Pools
    from ojs_aws.services.workers.service import Workers
    from ojs_aws.services.workflows.advance import WorkflowAdvance
    from ojs_aws.services.workflows.service import WorkflowService


class _ServicesOnJobs(FeatureServices):
    """Holds the services of jobs as well."""

    def __init__(self, shared: Foundation, jobs: JobServices) -> None:
        super().__init__(shared)
        self._jobs = jobs


class BulkServices(_ServicesOnJobs):
    """Holds the bulk operations on jobs."""

    @property
    def engine(self) -> BulkEngine:
        """Return a new engine of bulk changes."""
        from ojs_aws.services.bulk import BulkEngine

        return BulkEngine(self._shared.changer, self._shared.job_messages)

    @cached_property
    def enqueue(self) -> BulkEnqueue:
        """Return the service that enqueues many jobs, each with its result."""
        from ojs_aws.services.bulk.enqueue import BulkEnqueue

        return BulkEnqueue(self._jobs.push, self._shared.clock)

    @cached_property
    def changes(self) -> BulkChanges:
        """Return the service that cancels, retries or deletes many jobs."""
        from ojs_aws.services.bulk.changes import BulkChanges

        return BulkChanges(self.engine, self._jobs.search, self._shared.stores.unique)

    @cached_property
    def by_filter(self) -> BulkByFilter:
        """Return the service of operators' bulk operations on jobs."""
        from ojs_aws.services.bulk.by_filter import BulkByFilter

        return BulkByFilter(self.engine, self._jobs.search)

    @cached_property
    def idempotency(self) -> IdempotentRequests:
        """Return the service that runs a bulk operation once for its idempotency key."""
        from ojs_aws.services.bulk.enqueue import IdempotentRequests

        return IdempotentRequests(self._shared.stores.bulk(), self._shared.clock)

    @cached_property
    def completion_events(self) -> CompletionEvents:
        """Return the service that publishes finished bulk operations."""
        from ojs_aws.services.access.callers import CompletionEvents

        shared = self._shared
        return CompletionEvents(shared.stores.bulk(), shared.clock, shared.ids)


class DeadLetterServices(FeatureServices):
    """Holds dead letters, one or many, and the rules that replay and prune them."""

    def __init__(self, shared: Foundation, jobs: JobServices, bulk: BulkServices) -> None:
        super().__init__(shared)
        self._jobs = jobs
        self._bulk = bulk

    @property
    def _search(self) -> DeadLetterSearch:
        from ojs_aws.services.dead_letters.search import DeadLetterSearch
        from ojs_aws.services.jobs.job_lists import ListCounts

        stores = self._shared.stores
        counts = ListCounts(stores.store, stores.tallies)
        return DeadLetterSearch(stores.store, stores.queues, counts)

    @cached_property
    def service(self) -> DeadLetters:
        """Return the service of dead letters."""
        from ojs_aws.services.dead_letters.service import DeadLetters

        shared = self._shared
        return DeadLetters(
            shared.stores.store,
            self._search,
            shared.changer,
            shared.job_messages,
            lambda: self._jobs.push,
        )

    @cached_property
    def bulk(self) -> DeadLetterBulk:
        """Return the service of bulk operations on dead letters."""
        from ojs_aws.services.dead_letters.search import DeadLetterBulk

        return DeadLetterBulk(self._bulk.engine, self._search)

    @cached_property
    def upkeep(self) -> DeadLetterUpkeep:
        """Return the service that replays and prunes dead letters by rule.

        :raises InvalidRequestError: a replay rule of the settings cannot be read.
        """
        from ojs_aws.services.dead_letters.upkeep import DeadLetterUpkeep, read_replay_rules

        shared = self._shared
        return DeadLetterUpkeep(
            queues=shared.stores.queues,
            watermarks=shared.stores.watermarks,
            changer=shared.changer,
            job_messages=shared.job_messages,
            max_count=shared.settings.dead_letter_max_count,
            rules=read_replay_rules(shared.settings.dead_letter_replay),
        )


class OutcomeServices(FeatureServices):
    """Holds results, checkpoints and progress."""

    @cached_property
    def results(self) -> Results:
        """Return the service that reads outcomes of jobs."""
        from ojs_aws.services.outcomes.results import Results

        stores, settings = self._shared.stores, self._shared.settings
        return Results(self._shared.changer, stores.pause, settings.result_wait_ms)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Return the service of jobs' checkpoints."""
        from ojs_aws.services.outcomes.progress import Checkpoints

        return Checkpoints(self._shared.changer)

    @cached_property
    def progress(self) -> JobProgress:
        """Return the operation PROGRESS."""
        from ojs_aws.services.outcomes.progress import JobProgress

        shared = self._shared
        return JobProgress(shared.changer, shared.job_messages, shared.visibility, self.checkpoints)


class CronServices(_ServicesOnJobs):
    """Holds cron jobs and what fires them."""

    @cached_property
    def service(self) -> Cron:
        """Return the service of cron jobs."""
        from ojs_aws.services.cron.service import Cron

        firing = self.scheduler
        clock = self._shared.clock
        return Cron(entries=firing.entries, firing=firing, push=self._jobs.push, clock=clock)

    @cached_property
    def scheduler(self) -> CronScheduler:
        """Return the service that fires cron jobs."""
        from ojs_aws.services.cron.scheduler import CronScheduler

        shared, jobs = self._shared, self._jobs
        return CronScheduler(
            entries=shared.stores.cron(),
            wake_ups=shared.stores.wake_ups(),
            push=jobs.push,
            changer=shared.changer,
            changes=jobs.changes,
            ids=shared.ids,
        )


class WorkflowServices(_ServicesOnJobs):
    """Holds workflows and what moves them on."""

    @cached_property
    def service(self) -> WorkflowService:
        """Return the service of workflows."""
        from ojs_aws.services.workflows.service import WorkflowService

        shared = self._shared
        return WorkflowService(
            workflows=self.advance.workflows,
            push=self._jobs.push,
            changer=shared.changer,
            workflow_advance=self.advance,
            ids=shared.ids,
        )

    @cached_property
    def advance(self) -> WorkflowAdvance:
        """Return the service that moves workflows on; their jobs have passed the middleware."""
        from ojs_aws.middleware.chain.enqueue import EnqueueChain
        from ojs_aws.middleware.enqueuer import Enqueuer
        from ojs_aws.services.workflows.advance import WorkflowAdvance

        shared = self._shared
        return WorkflowAdvance(
            workflows=shared.stores.workflows(),
            push=self._jobs.push_through(Enqueuer(EnqueueChain()), is_internal=True),
            changer=shared.changer,
        )


class WorkerServices(FeatureServices):
    """Holds the registry of workers, their heartbeats, and their pools."""

    @cached_property
    def service(self) -> Workers:
        """Return the service of workers."""
        from ojs_aws.services.workers.service import Workers

        return Workers(self._shared.stores.workers(), self._shared.changer)

    @cached_property
    def heartbeat(self) -> Heartbeat:
        """Return the operation BEAT."""
        from ojs_aws.services.workers.heartbeat import Heartbeat

        shared = self._shared
        return Heartbeat(
            shared.stores.workers(),
            shared.changer,
            shared.job_messages,
            shared.visibility,
            shared.drain_state,
        )

    @cached_property
    def pools(self) -> Pools:
        """Return the service of worker pools."""
        from ojs_aws.services.workers.pools import Pools

        stores = self._shared.stores
        return Pools(stores.pools(), stores.workers(), stores.clock, stores.new_reservation_id)
