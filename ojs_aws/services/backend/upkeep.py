"""Makes the services of the tick, and of repairs after a restore."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.domain.jobs.batches import RollForwardReport
    from ojs_aws.services.backend.features import WorkflowServices
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.backend.queues import QueueServices
    from ojs_aws.services.upkeep.repair import ListRepair, Repair
    from ojs_aws.services.upkeep.sweep import Sweep
    from ojs_aws.services.upkeep.totals_recount import TotalsRecount


class UpkeepServices:
    """Holds the services that no request calls."""

    def __init__(
        self, shared: Foundation, queues: QueueServices, workflows: WorkflowServices
    ) -> None:
        """Make nothing yet."""
        self._shared = shared
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

        shared, workflows = self._shared, self._workflows
        return ListRepair(shared.stores.store, shared.clock, lambda: workflows.service)

    @cached_property
    def repair(self) -> Repair:
        """Return the service that repairs after a restore of the table."""
        from ojs_aws.services.upkeep.repair import Repair

        shared, workflows = self._shared, self._workflows
        stores, messages = shared.stores, shared.job_messages
        return Repair(
            stores.queues, stores.store, messages, shared.clock, lambda: workflows.service
        )
