"""Makes the services of jobs that begin jobs: cron jobs and workflows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.producers import ProducerServices

if TYPE_CHECKING:
    from ojs_aws.services.cron.scheduler import CronScheduler
    from ojs_aws.services.cron.service import Cron
    from ojs_aws.services.workflows.advance import WorkflowAdvance
    from ojs_aws.services.workflows.service import WorkflowService


class OrchestrationServices(ProducerServices):
    """Holds cron jobs and workflows; both push the jobs that they begin."""

    @cached_property
    def cron(self) -> Cron:
        """Return the service of cron jobs."""
        from ojs_aws.services.cron.service import Cron

        firing = self.cron_scheduler
        return Cron(entries=firing.entries, firing=firing, push=self.push, clock=self.clock)

    @cached_property
    def cron_scheduler(self) -> CronScheduler:
        """Return the service that fires cron jobs."""
        from ojs_aws.services.cron.scheduler import CronScheduler

        return CronScheduler(
            entries=self.ports.cron(),
            alarms=self.ports.alarms(),
            store=self.ports.store,
            push=self.push,
            changer=self.changer,
            cancel=self.cancel,
            activate=self.activate,
            clock=self.clock,
            ids=self.ids,
        )

    @cached_property
    def workflows(self) -> WorkflowService:
        """Return the service of workflows."""
        from ojs_aws.services.workflows.service import WorkflowService

        return WorkflowService(
            workflows=self.workflow_advance.workflows,
            store=self.ports.store,
            push=self.push,
            changer=self.changer,
            job_messages=self.job_messages,
            workflow_advance=self.workflow_advance,
            clock=self.clock,
            ids=self.ids,
        )

    @cached_property
    def workflow_advance(self) -> WorkflowAdvance:
        """Return the service that moves workflows on.

        Their jobs have passed the middleware already.
        """
        from ojs_aws.middleware.chain.enqueue import EnqueueChain
        from ojs_aws.middleware.enqueuer import Enqueuer
        from ojs_aws.services.workflows.advance import WorkflowAdvance

        return WorkflowAdvance(
            workflows=self.ports.workflows(),
            store=self.ports.store,
            push=self._push(Enqueuer(EnqueueChain()), is_internal=True),
            changer=self.changer,
            job_messages=self.job_messages,
            clock=self.clock,
        )
