"""Jobs that begin jobs: cron jobs and workflows."""

# ruff: noqa: PLC0415 - imports wait for their service, see the package
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.producers import ProducerServices

if TYPE_CHECKING:
    from ojs_aws.services.cron import Cron
    from ojs_aws.services.cron_firing import CronFiring
    from ojs_aws.services.workflow_advancing import Advancing
    from ojs_aws.services.workflows import WorkflowService


class OrchestrationServices(ProducerServices):
    """Cron jobs and workflows; both push what they begin."""

    @cached_property
    def cron(self) -> Cron:
        """The cron jobs."""
        from ojs_aws.services.cron import Cron

        firing = self.cron_firing
        return Cron(entries=firing.entries, firing=firing, push=self.push, clock=self.clock)

    @cached_property
    def cron_firing(self) -> CronFiring:
        """What fires the cron jobs."""
        from ojs_aws.services.cron_firing import CronFiring

        return CronFiring(
            entries=self.ports.cron(),
            alarms=self.ports.alarms(),
            store=self.ports.store,
            push=self.push,
            changing=self.changing,
            cancel=self.cancel,
            activate=self.activate,
            clock=self.clock,
            ids=self.ids,
        )

    @cached_property
    def workflows(self) -> WorkflowService:
        """The workflows."""
        from ojs_aws.services.workflows import WorkflowService

        return WorkflowService(
            workflows=self.advancing.workflows,
            store=self.ports.store,
            push=self.push,
            changing=self.changing,
            waking=self.waking,
            advancing=self.advancing,
            clock=self.clock,
            ids=self.ids,
        )

    @cached_property
    def advancing(self) -> Advancing:
        """What moves workflows on. Their jobs have passed the middleware when they come here."""
        from ojs_aws.middleware.chain.enqueue import EnqueueChain
        from ojs_aws.middleware.enqueuer import Enqueuer
        from ojs_aws.services.workflow_advancing import Advancing

        return Advancing(
            workflows=self.ports.workflows(),
            store=self.ports.store,
            push=self._push(Enqueuer(EnqueueChain()), is_internal=True),
            changing=self.changing,
            waking=self.waking,
            clock=self.clock,
        )
