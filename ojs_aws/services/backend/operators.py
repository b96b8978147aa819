"""What operators ask for."""

# ruff: noqa: PLC0415 - imports wait for their service, see the package
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.producers import ProducerServices

if TYPE_CHECKING:
    from ojs_aws.services.bulk_changes import BulkChanges
    from ojs_aws.services.configuring import Configuring
    from ojs_aws.services.dead_letter import DeadLetters
    from ojs_aws.services.dead_letter_bulk import DeadLetterBulk
    from ojs_aws.services.job_bulk import JobBulk
    from ojs_aws.services.job_search import JobSearch
    from ojs_aws.services.limits import LimitBook
    from ojs_aws.services.purging import Purging
    from ojs_aws.services.queue_stats import QueueStatistics
    from ojs_aws.services.queues import Queues
    from ojs_aws.services.reprioritising import Reprioritise
    from ojs_aws.services.schemas import SchemaRegistry
    from ojs_aws.services.statistics import Statistics
    from ojs_aws.services.workers import Workers


class OperatorServices(ProducerServices):
    """Queues, workers, dead letters and schemas; jobs by the many."""

    @cached_property
    def queues(self) -> Queues:
        """The queues."""
        from ojs_aws.services.queues import Queues

        ports = self.ports
        return Queues(
            registry=ports.queues,
            store=ports.store,
            messages=ports.messages,
            waking=self.waking,
            triggers=ports.triggers,
            clock=ports.clock,
            declared=frozenset(self.settings.queues),
            allow_undeclared=self.settings.allow_undeclared_queues,
        )

    @cached_property
    def configuring(self) -> Configuring:
        """The settings of queues."""
        from ojs_aws.services.configuring import Configuring

        return Configuring(
            book=self._book(),
            limits=self._limits,
            queues=self.queues,
            statistics=lambda: self.queue_statistics,
            clock=self.clock,
            settings=self.settings,
            bounding=self.backpressure.bound,
        )

    @cached_property
    def limits(self) -> LimitBook:
        """The limits on how jobs begin."""
        from ojs_aws.services.limits import LimitBook

        return LimitBook(self._limits(), self.ports.store, self.queues, self.clock)

    @cached_property
    def purging(self) -> Purging:
        """What empties queues."""
        from ojs_aws.services.purging import Purging

        return Purging(self.ports.store, self.changing, self.queues)

    @cached_property
    def queue_statistics(self) -> QueueStatistics:
        """How many jobs queues have."""
        from ojs_aws.services.queue_stats import QueueStatistics

        return QueueStatistics(self.ports.store, self._tallies, self.ports.clock)

    @cached_property
    def statistics(self) -> Statistics:
        """What all queues do together."""
        from ojs_aws.services.statistics import Statistics

        return Statistics(self.queue_statistics, self.ports.queues, self.clock)

    @cached_property
    def workers(self) -> Workers:
        """The workers, for operators."""
        from ojs_aws.services.workers import Workers

        return Workers(self.ports.workers(), self.changing)

    @cached_property
    def dead_letters(self) -> DeadLetters:
        """The dead letters."""
        from ojs_aws.services.dead_letter import DeadLetters
        from ojs_aws.services.dead_letter_rows import DeadLetterRows

        rows = DeadLetterRows(self.ports.store, self.ports.queues)
        return DeadLetters(self.ports.store, rows, self.changing, self.waking, self._rules)

    @cached_property
    def dead_letter_bulk(self) -> DeadLetterBulk:
        """Many dead letters at once."""
        from ojs_aws.services.dead_letter_bulk import DeadLetterBulk
        from ojs_aws.services.dead_letter_rows import DeadLetterRows

        rows = DeadLetterRows(self.ports.store, self.ports.queues)
        return DeadLetterBulk(self.ports.store, rows, self.changing, self.waking)

    @cached_property
    def job_search(self) -> JobSearch:
        """What finds jobs for operators."""
        from ojs_aws.services.job_search import JobSearch

        return JobSearch(self.ports.store, self.ports.queues, self.clock)

    @cached_property
    def job_bulk(self) -> JobBulk:
        """Many jobs at once, for operators."""
        from ojs_aws.services.job_bulk import JobBulk

        return JobBulk(self.ports.store, self.job_search, self.changing, self.waking)

    @cached_property
    def bulk_changes(self) -> BulkChanges:
        """Many jobs cancelled, retried or deleted."""
        from ojs_aws.services.bulk_changes import BulkChanges

        return BulkChanges(
            self.ports.store, self.job_search, self.changing, self.waking, self.ports.unique
        )

    @cached_property
    def reprioritise(self) -> Reprioritise:
        """What changes the priority of jobs."""
        from ojs_aws.services.reprioritising import Reprioritise

        return Reprioritise(self.changing)

    @cached_property
    def schemas(self) -> SchemaRegistry:
        """The schemas of job types."""
        from ojs_aws.services.schemas import SchemaRegistry

        return SchemaRegistry(self.ports.schemas(), self.clock)
