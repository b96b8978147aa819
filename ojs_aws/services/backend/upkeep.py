"""Makes the services of the tick, of the stream, and of repairs after a restore."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.operators import OperatorServices
from ojs_aws.services.backend.orchestration import OrchestrationServices

if TYPE_CHECKING:
    from ojs_aws.services.batches.steps import RollForwardReport
    from ojs_aws.services.dead_letters.upkeep import DeadLetterUpkeep
    from ojs_aws.services.queues.counters import QueueCounters
    from ojs_aws.services.upkeep.repair import Repair
    from ojs_aws.services.upkeep.sweep import Sweep
    from ojs_aws.services.upkeep.totals_recount import TotalsRecount


class UpkeepServices(OperatorServices, OrchestrationServices):
    """Holds the services that no request calls."""

    @cached_property
    def sweep(self) -> Sweep:
        """Return the sweep."""
        from ojs_aws.services.limits.check import LimitedTypes
        from ojs_aws.services.upkeep.message_resend import MessageResend
        from ojs_aws.services.upkeep.sweep import Sweep, one_by_one
        from ojs_aws.services.upkeep.sweep_queue import QueueSweep

        ports = self.ports
        types = LimitedTypes(self._limits, self.clock)
        cover = MessageResend(ports.store, ports.messages, ports.queues, self.job_messages, types)
        queue = QueueSweep(ports.store, ports.queues, self.changer, self.job_messages, cover)
        return Sweep(
            queue,
            ports.queues,
            ports.clock,
            ports.each or one_by_one,
            self.queues.finish,
            self._roll_forward,
            self.totals_recount.tick,
        )

    def _roll_forward(self, is_over: Callable[[], bool]) -> RollForwardReport:
        """Finish the large batches whose processes died."""
        return self.batch_push.tick(is_over)

    @cached_property
    def dead_letter_upkeep(self) -> DeadLetterUpkeep:
        """Return the service that replays and prunes dead letters by rule.

        :raises InvalidRequestError: a replay rule of the settings cannot be read.
        """
        from ojs_aws.services.dead_letters.replay_rules import read_replay_rules
        from ojs_aws.services.dead_letters.upkeep import DeadLetterUpkeep

        return DeadLetterUpkeep(
            store=self.ports.store,
            queues=self.ports.queues,
            marks=self.ports.marks,
            changer=self.changer,
            job_messages=self.job_messages,
            max_count=self.settings.dead_letter_max_count,
            rules=read_replay_rules(self.settings.dead_letter_replay),
        )

    @cached_property
    def tallying(self) -> QueueCounters:
        """Return the service that counts what queues did."""
        from ojs_aws.services.queues.counters import QueueCounters

        return QueueCounters(self._tallies)

    @cached_property
    def totals_recount(self) -> TotalsRecount:
        """Return the service that recounts the totals of queues."""
        from ojs_aws.services.upkeep.totals_recount import TotalsRecount

        return TotalsRecount(self._tallies, lambda: self.queue_statistics, self.clock)

    @cached_property
    def repair(self) -> Repair:
        """Return the service that repairs after a restore of the table."""
        from ojs_aws.services.upkeep.repair import Repair

        ports = self.ports
        return Repair(
            ports.queues, ports.store, self.job_messages, self.clock, lambda: self.workflows
        )
