"""Puts the services of one deployment together, over any stores.

One attribute for each package of services. Each service is imported and made when it is first
asked for, so that a function loads what its own routes need and no more.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.features import (
    BulkServices,
    CronServices,
    DeadLetterServices,
    OutcomeServices,
    WorkerServices,
    WorkflowServices,
)
from ojs_aws.services.backend.foundation import FeatureServices, Foundation
from ojs_aws.services.backend.jobs import JobServices, SchemaServices
from ojs_aws.services.backend.queues import QueueServices

if TYPE_CHECKING:
    from ojs_aws.config import Settings
    from ojs_aws.services.access.api_keys import KeyAdmin
    from ojs_aws.services.access.callers import ClientRateLimits, OperationAudit
    from ojs_aws.services.backend.foundation import Stores
    from ojs_aws.services.limits.admin import LimitAdmin
    from ojs_aws.services.sequences.advance import SequenceAdvance
    from ojs_aws.services.sequences.service import SequenceAdmin
    from ojs_aws.services.system.failure_groups import FailureStatistics
    from ojs_aws.services.system.findings import Findings
    from ojs_aws.services.system.statistics import Statistics
    from ojs_aws.services.tenants.admin import TenantAdmin, TenantStatistics
    from ojs_aws.services.upkeep.repair import ListRepair, Repair
    from ojs_aws.services.upkeep.sweep import Sweep
    from ojs_aws.services.upkeep.totals_recount import TotalsRecount


class UpkeepServices(FeatureServices):
    """Holds the services that no request calls."""

    def __init__(
        self, shared: Foundation, queues: QueueServices, workflows: WorkflowServices
    ) -> None:
        """Make nothing yet."""
        super().__init__(shared)
        self._queues = queues
        self._workflows = workflows

    @cached_property
    def sweep(self) -> Sweep:
        """Return the sweep."""
        from ojs_aws.services.limits.check import LimitedTypes
        from ojs_aws.services.upkeep.message_resend import MessageResend
        from ojs_aws.services.upkeep.sweep import Sweep
        from ojs_aws.services.upkeep.sweep_queue import QueueSweep

        shared, stores = self._shared, self._shared.stores
        messages = shared.job_messages
        types = LimitedTypes(stores.limits, shared.clock, shared.most_of_tenant)
        cover = MessageResend(stores.store, stores.messages, stores.queues, messages, types)
        queue = QueueSweep(
            stores.queues, shared.changer, messages, cover, self._queues.service.copy_marks
        )
        return Sweep(
            queue,
            stores.queues,
            stores.clock,
            stores.parallel,
            self._queues.service.finish,
            shared.batch_push.tick,
            self.totals_recount.tick,
        )

    @cached_property
    def totals_recount(self) -> TotalsRecount:
        """Return the service that recounts the totals of queues."""
        from ojs_aws.services.upkeep.totals_recount import TotalsRecount

        shared, queues = self._shared, self._queues
        stores = shared.stores
        return TotalsRecount(
            stores.tallies, lambda: queues.statistics, shared.clock, stores.watermarks
        )

    @cached_property
    def list_repair(self) -> ListRepair:
        """Return the service that makes up for changes that the table's stream lost."""
        from ojs_aws.services.upkeep.repair import ListRepair

        return ListRepair(
            self._shared.stores.store, self._shared.clock, lambda: self._workflows.service
        )

    @cached_property
    def repair(self) -> Repair:
        """Return the service that repairs after a restore of the table."""
        from ojs_aws.services.upkeep.repair import Repair

        shared, stores = self._shared, self._shared.stores
        workflows = self._workflows
        queues, messages = stores.queues, shared.job_messages
        return Repair(queues, stores.store, messages, shared.clock, lambda: workflows.service)


class Backend(Foundation):
    """Holds the services, ready to be called: those of each package, and what they share."""

    def __init__(self, settings: Settings, stores: Stores) -> None:
        """Make only what all services share."""
        super().__init__(settings, stores)
        self.schemas = SchemaServices(self)
        self.queues = QueueServices(self)
        self.jobs = JobServices(self, self.queues, self.schemas)
        self.bulk = BulkServices(self, self.jobs)
        self.outcomes = OutcomeServices(self)
        self.workers = WorkerServices(self)
        self.dead_letters = DeadLetterServices(self, self.jobs, self.bulk)
        self.cron = CronServices(self, self.jobs)
        self.workflows = WorkflowServices(self, self.jobs)
        self.upkeep = UpkeepServices(self, self.queues, self.workflows)

    @cached_property
    def sequence_advance(self) -> SequenceAdvance:
        """Return the service that moves sequences on."""
        from ojs_aws.services.sequences.advance import SequenceAdvance

        return SequenceAdvance(
            self.stores.sequences(), self.changer, self.job_messages, self.settle_batches
        )

    @cached_property
    def sequences(self) -> SequenceAdmin:
        """Return the service that shows sequences, and lets stopped ones go on."""
        from ojs_aws.services.sequences.service import SequenceAdmin

        return SequenceAdmin(self.stores.sequences(), self.sequence_advance)

    @cached_property
    def limits(self) -> LimitAdmin:
        """Return the service of limits on how jobs begin."""
        from ojs_aws.services.limits.admin import LimitAdmin

        return LimitAdmin(self.stores.limits(), self.stores.store, self.queues.service, self.clock)

    @cached_property
    def statistics(self) -> Statistics:
        """Return the service of statistics over all queues."""
        from ojs_aws.services.system.statistics import Statistics

        return Statistics(self.queues.statistics, self.stores.queues, self.clock)

    @cached_property
    def tenants(self) -> TenantStatistics:
        """Return the service of what was counted of tenants."""
        from ojs_aws.services.tenants.admin import TenantStatistics

        return TenantStatistics(self.stores.tenant_tallies, self.clock)

    @cached_property
    def tenant_admin(self) -> TenantAdmin:
        """Return the service of what operators set for tenants."""
        from ojs_aws.domain.tenants import limits_of_all
        from ojs_aws.services.tenants.admin import TenantAdmin

        stores, of_all = self.stores, limits_of_all(self.settings.tenant_limits)
        limits, book = stores.limits(), stores.queue_settings()
        return TenantAdmin(limits, book, self.limits, self.clock, of_all)

    @cached_property
    def api_keys(self) -> KeyAdmin:
        """Return the service that lists and revokes API keys."""
        from ojs_aws.services.access.api_keys import KeyAdmin

        return KeyAdmin(self.stores.api_keys(), self.clock)

    @cached_property
    def audit(self) -> OperationAudit:
        """Return the service that records who did an operation."""
        from ojs_aws.services.access.callers import OperationAudit

        return OperationAudit(self.stores.bulk(), self.clock, self.ids)

    @cached_property
    def failures(self) -> FailureStatistics:
        """Return the service that groups failures by error."""
        from ojs_aws.services.system.failure_groups import FailureStatistics

        return FailureStatistics(self.stores.failure_groups, self.clock)

    @cached_property
    def findings(self) -> Findings:
        """Return the service that finds what needs attention."""
        from ojs_aws.services.system.findings import Findings
        from ojs_aws.services.system.queue_findings import LineFindings

        stores = self.stores
        return Findings(
            statistics=self.statistics,
            queues=stores.queues,
            store=stores.store,
            workers=stores.workers,
            failures=lambda: self.failures,
            lines=LineFindings(
                settings=stores.queue_settings,
                statistics=self.queues.statistics,
                declared=self.lines,
            ),
            why=lambda: self.jobs.why,
            sequences=stores.sequences,
        )

    @cached_property
    def client_limits(self) -> ClientRateLimits | None:
        """Return the limit of API clients' requests; None for none."""
        settings = self.settings
        if not settings.client_rate_per_s:
            return None
        from functools import cache

        from ojs_aws.domain.limits import ClientRate
        from ojs_aws.services.access.callers import ClientRateLimits

        per_s = settings.client_rate_per_s
        rate = ClientRate(per_s=per_s, burst=settings.client_burst or 2 * per_s)
        return ClientRateLimits(cache(self.stores.client_buckets), self.clock, rate)
