"""Makes the services of queues, and of the tick and the repairs that keep them right."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.foundation import FeatureServices

if TYPE_CHECKING:
    from ojs_aws.domain.jobs.batches import RollForwardReport
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.bulk.purge import PurgeQueue
    from ojs_aws.services.queues.backpressure import Backpressure
    from ojs_aws.services.queues.bindings import Bindings
    from ojs_aws.services.queues.config_admin import QueueConfigAdmin
    from ojs_aws.services.queues.counters import CostLearner, DepthRecount, QueueCounters
    from ojs_aws.services.queues.push_settings import PushSettingsCache
    from ojs_aws.services.queues.rules import QueueRules
    from ojs_aws.services.queues.service import Queues
    from ojs_aws.services.queues.stats import QueueStatistics
    from ojs_aws.services.tenants.enqueue_limits import TenantEnqueueLimits, TenantSettingsCache
    from ojs_aws.services.upkeep.repair import ListRepair, Repair
    from ojs_aws.services.upkeep.sweep import Sweep
    from ojs_aws.services.upkeep.totals_recount import TotalsRecount
    from ojs_aws.services.workflows.service import WorkflowService


class QueueServices(FeatureServices):
    """Holds queues, their settings, their bounds, and what is counted of them."""

    @cached_property
    def service(self) -> Queues:
        """Return the service of queues."""
        from ojs_aws.services.queues.service import Queues

        stores, settings = self._shared.stores, self._shared.settings
        return Queues(
            registry=stores.queues,
            store=stores.store,
            messages=stores.messages,
            job_messages=self._shared.job_messages,
            triggers=stores.triggers,
            clock=stores.clock,
            declared=frozenset(settings.queues),
            allow_undeclared=settings.allow_undeclared_queues,
            lines=self._shared.lines,
            marks=stores.line_marks,
        )

    @cached_property
    def config(self) -> QueueConfigAdmin:
        """Return the service of queues' settings."""
        from ojs_aws.services.queues.config_admin import QueueConfigAdmin

        stores = self._shared.stores
        return QueueConfigAdmin(
            store=stores.queue_settings(),
            limits=stores.limits,
            queues=self.service,
            statistics=lambda: self.statistics,
            clock=stores.clock,
            settings=self._shared.settings,
            bounding=self.depth_recount.bound,
        )

    @cached_property
    def bindings(self) -> Bindings:
        """Return the service of queues' bindings to functions."""
        from ojs_aws.domain.bindings import read_targets
        from ojs_aws.services.queues.bindings import Bindings

        shared = self._shared
        targets = read_targets(shared.settings.binding_targets)
        return Bindings(shared.stores.queue_bindings(), self.service, targets, shared.clock)

    @cached_property
    def rules(self) -> QueueRules:
        """Return the rules for which queues may exist."""
        from ojs_aws.domain.queues import QueueState
        from ojs_aws.services.queues.rules import QueueRules, UndeclaredQueues

        stores, settings = self._shared.stores, self._shared.settings
        declared = frozenset(settings.queues)
        if not settings.allow_undeclared_queues:
            return QueueRules(declared, None)

        def registered() -> set[str]:
            return {info.name for info in stores.queues.all()} - declared

        def deleted() -> list[str]:
            store = stores.queue_settings()
            return [each.queue for each in store.all() if each.state is QueueState.DELETED]

        most = settings.max_undeclared_queues
        return QueueRules(declared, UndeclaredQueues(most, stores.clock, registered, deleted))

    @cached_property
    def purge(self) -> PurgeQueue:
        """Return the service that empties queues."""
        from ojs_aws.services.bulk import BulkEngine
        from ojs_aws.services.bulk.purge import PurgeQueue

        engine = BulkEngine(self._shared.changer, None)
        return PurgeQueue(engine, self.service)

    @cached_property
    def statistics(self) -> QueueStatistics:
        """Return the service that counts a queue's jobs."""
        from ojs_aws.services.queues.stats import QueueStatistics

        stores = self._shared.stores
        return QueueStatistics(stores.store, stores.tallies, stores.clock)

    @cached_property
    def push_settings(self) -> PushSettingsCache:
        """Return the queues' settings for PUSH."""
        from ojs_aws.services.queues.push_settings import PushSettingsCache

        stores, settings = self._shared.stores, self._shared.settings
        return PushSettingsCache(
            stores.clock,
            settings.queue_settings_age_ms,
            stores.queue_settings,
            self._copy_marks,
        )

    def _copy_marks(self, queue: str) -> None:
        """Let each line of a wide queue say of it what the first one does."""
        self.service.copy_marks(queue)

    @cached_property
    def tenant_settings(self) -> TenantSettingsCache:
        """Return the tenants' settings for PUSH."""
        from ojs_aws.domain.tenants import limits_of_all
        from ojs_aws.services.tenants.enqueue_limits import TenantSettingsCache

        stores, settings = self._shared.stores, self._shared.settings
        of_all = limits_of_all(settings.tenant_limits)
        age_ms = settings.queue_settings_age_ms
        return TenantSettingsCache(stores.clock, age_ms, stores.limits, of_all)

    @cached_property
    def tenant_limits(self) -> TenantEnqueueLimits:
        """Return the service that refuses jobs of tenants beyond their limits."""
        from ojs_aws.services.tenants.enqueue_limits import TenantEnqueueLimits

        stores = self._shared.stores
        return TenantEnqueueLimits(
            cache(stores.client_buckets), stores.tenant_tallies, stores.pressures, stores.clock
        )

    @cached_property
    def backpressure(self) -> Backpressure:
        """Return the service that keeps the bounds of queues."""
        from ojs_aws.services.queues.backpressure import Backpressure

        stores = self._shared.stores
        return Backpressure(stores.depths, stores.pressures, self.push_settings, stores.clock)

    @cached_property
    def depth_recount(self) -> DepthRecount:
        """Return the service that keeps the counters of bounded queues true."""
        from ojs_aws.services.queues.counters import DepthRecount

        return DepthRecount(self._shared.stores.depths, self._shared.clock)

    @cached_property
    def counters(self) -> QueueCounters:
        """Return the service that counts what queues did."""
        from ojs_aws.services.queues.counters import QueueCounters

        stores = self._shared.stores
        return QueueCounters(stores.tallies, stores.tenant_tallies, stores.clock, stores.parallel)

    @cached_property
    def costs(self) -> CostLearner:
        """Return the service that learns what starts cost in fair queues."""
        from ojs_aws.services.queues.counters import CostLearner

        return CostLearner(self._shared.stores.queue_settings, self._shared.clock)


class UpkeepServices(FeatureServices):
    """Holds the services that no request calls."""

    def __init__(
        self, shared: Foundation, queues: QueueServices, workflows: Callable[[], WorkflowService]
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
            self._roll_forward,
            self.totals_recount.tick,
        )

    def _roll_forward(self, is_over: Callable[[], bool]) -> RollForwardReport:
        """Finish the large batches whose processes died."""
        return self._shared.batch_push.tick(is_over)

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

        return ListRepair(self._shared.stores.store, self._shared.clock, self._workflows)

    @cached_property
    def repair(self) -> Repair:
        """Return the service that repairs after a restore of the table."""
        from ojs_aws.services.upkeep.repair import Repair

        shared, stores = self._shared, self._shared.stores
        messages = shared.job_messages
        return Repair(stores.queues, stores.store, messages, shared.clock, self._workflows)
