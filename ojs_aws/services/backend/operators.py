"""Makes the services for operators."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.producers import ProducerServices

if TYPE_CHECKING:
    from ojs_aws.services.bulk.by_filter import BulkByFilter
    from ojs_aws.services.bulk.changes import BulkChanges
    from ojs_aws.services.bulk.engine import BulkEngine
    from ojs_aws.services.dead_letters.bulk import DeadLetterBulk
    from ojs_aws.services.dead_letters.service import DeadLetters
    from ojs_aws.services.jobs.one_job import ChangePriority
    from ojs_aws.services.jobs.search import JobSearch
    from ojs_aws.services.limits.admin import LimitAdmin
    from ojs_aws.services.queues.config_admin import QueueConfigAdmin
    from ojs_aws.services.queues.purge import PurgeQueue
    from ojs_aws.services.queues.service import Queues
    from ojs_aws.services.queues.stats import QueueStatistics
    from ojs_aws.services.schemas.registry import SchemaRegistry
    from ojs_aws.services.system.statistics import Statistics
    from ojs_aws.services.workers.service import Workers


class OperatorServices(ProducerServices):
    """Holds queues, workers, dead letters, schemas, and bulk operations on jobs."""

    @cached_property
    def queues(self) -> Queues:
        """Return the service of queues."""
        from ojs_aws.services.queues.service import Queues

        ports = self.ports
        return Queues(
            registry=ports.queues,
            store=ports.store,
            messages=ports.messages,
            job_messages=self.job_messages,
            triggers=ports.triggers,
            clock=ports.clock,
            declared=frozenset(self.settings.queues),
            allow_undeclared=self.settings.allow_undeclared_queues,
        )

    @cached_property
    def queue_config(self) -> QueueConfigAdmin:
        """Return the service of queues' settings."""
        from ojs_aws.services.queues.config_admin import QueueConfigAdmin

        return QueueConfigAdmin(
            book=self._book(),
            limits=self._limits,
            queues=self.queues,
            statistics=lambda: self.queue_statistics,
            clock=self.clock,
            settings=self.settings,
            bounding=self.depth_recount.bound,
        )

    @cached_property
    def limits(self) -> LimitAdmin:
        """Return the service of limits on how jobs begin."""
        from ojs_aws.services.limits.admin import LimitAdmin

        return LimitAdmin(self._limits(), self.ports.store, self.queues, self.clock)

    @cached_property
    def purge_queue(self) -> PurgeQueue:
        """Return the service that empties queues."""
        from ojs_aws.services.bulk.engine import BulkEngine
        from ojs_aws.services.queues.purge import PurgeQueue

        engine = BulkEngine(self.ports.store, self.changer, None)
        return PurgeQueue(engine, self.queues)

    @cached_property
    def queue_statistics(self) -> QueueStatistics:
        """Return the service that counts a queue's jobs."""
        from ojs_aws.services.queues.stats import QueueStatistics

        return QueueStatistics(self.ports.store, self._tallies, self.ports.clock)

    @cached_property
    def statistics(self) -> Statistics:
        """Return the service of statistics over all queues."""
        from ojs_aws.services.system.statistics import Statistics

        return Statistics(self.queue_statistics, self.ports.queues, self.clock)

    @cached_property
    def workers(self) -> Workers:
        """Return the service of workers."""
        from ojs_aws.services.workers.service import Workers

        return Workers(self.ports.workers(), self.changer)

    @cached_property
    def dead_letters(self) -> DeadLetters:
        """Return the service of dead letters."""
        from ojs_aws.services.dead_letters.search import DeadLetterSearch
        from ojs_aws.services.dead_letters.service import DeadLetters

        rows = DeadLetterSearch(self.ports.store, self.ports.queues)
        return DeadLetters(self.ports.store, rows, self.changer, self.job_messages, self._rules)

    @cached_property
    def dead_letter_bulk(self) -> DeadLetterBulk:
        """Return the service of bulk operations on dead letters."""
        from ojs_aws.services.dead_letters.bulk import DeadLetterBulk
        from ojs_aws.services.dead_letters.search import DeadLetterSearch

        rows = DeadLetterSearch(self.ports.store, self.ports.queues)
        return DeadLetterBulk(self._bulk_engine, rows)

    @cached_property
    def job_search(self) -> JobSearch:
        """Return the service that finds jobs for operators."""
        from ojs_aws.services.jobs.search import JobSearch

        return JobSearch(self.ports.store, self.ports.queues, self.clock)

    @cached_property
    def job_bulk(self) -> BulkByFilter:
        """Return the service of operators' bulk operations on jobs."""
        from ojs_aws.services.bulk.by_filter import BulkByFilter

        return BulkByFilter(self._bulk_engine, self.job_search)

    @cached_property
    def bulk_changes(self) -> BulkChanges:
        """Return the service that cancels, retries or deletes many jobs."""
        from ojs_aws.services.bulk.changes import BulkChanges

        return BulkChanges(self._bulk_engine, self.job_search, self.ports.unique)

    @property
    def _bulk_engine(self) -> BulkEngine:
        from ojs_aws.services.bulk.engine import BulkEngine

        return BulkEngine(self.ports.store, self.changer, self.job_messages)

    @cached_property
    def reprioritise(self) -> ChangePriority:
        """Return the service that changes the priority of jobs."""
        from ojs_aws.services.jobs.one_job import ChangePriority

        return ChangePriority(self.changer)

    @cached_property
    def schemas(self) -> SchemaRegistry:
        """Return the registry of job types' schemas."""
        from ojs_aws.services.schemas.registry import SchemaRegistry

        return SchemaRegistry(self.ports.schemas(), self.clock)
