"""Makes the services of queues."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.foundation import FeatureServices

if TYPE_CHECKING:
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
            recount=self.depth_recount,
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
