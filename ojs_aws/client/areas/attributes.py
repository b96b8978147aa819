"""Give the client its areas, which offer more than enqueueing: one attribute for each.

Producers use none of them. So each is imported when it is first used.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.client.timer import Timer
from ojs_aws.client.transports.transport import Transport

if TYPE_CHECKING:
    from ojs_aws.client.areas.cron import CronJobs
    from ojs_aws.client.areas.dead_letters import DeadLetterJobs
    from ojs_aws.client.areas.events import Events
    from ojs_aws.client.areas.jobs import Jobs
    from ojs_aws.client.areas.queues import Queues
    from ojs_aws.client.areas.schemas import Schemas
    from ojs_aws.client.areas.system import System
    from ojs_aws.client.areas.workers import Workers
    from ojs_aws.client.areas.workflows import WorkflowOperations


class Areas:
    """Offers one attribute for each area, over one transport."""

    def __init__(self, transport: Transport, timer: Timer) -> None:
        """Keep the transport; each area is made when it is first used."""
        self._transport = transport
        self._timer = timer

    @cached_property
    def workflows(self) -> WorkflowOperations:
        """Read, list, cancel and wait for workflows."""
        from ojs_aws.client.areas.workflows import WorkflowOperations

        return WorkflowOperations(self._transport, self._timer)

    @cached_property
    def cron(self) -> CronJobs:
        """Register, read, pause, trigger and remove cron jobs."""
        from ojs_aws.client.areas.cron import CronJobs

        return CronJobs(self._transport)

    @cached_property
    def schemas(self) -> Schemas:
        """Register, read and remove the schemas of job types."""
        from ojs_aws.client.areas.schemas import Schemas

        return Schemas(self._transport)

    @cached_property
    def queues(self) -> Queues:
        """Read, create, configure, pause, drain and purge queues."""
        from ojs_aws.client.areas.queues import Queues

        return Queues(self._transport)

    @cached_property
    def workers(self) -> Workers:
        """List workers, and send them directives."""
        from ojs_aws.client.areas.workers import Workers

        return Workers(self._transport)

    @cached_property
    def dead_letter(self) -> DeadLetterJobs:
        """Inspect, retry and remove dead letters."""
        from ojs_aws.client.areas.dead_letters import DeadLetterJobs

        return DeadLetterJobs(self._transport)

    @cached_property
    def jobs(self) -> Jobs:
        """Find jobs, read their history, and retry, cancel and delete them in bulk."""
        from ojs_aws.client.areas.jobs import Jobs

        return Jobs(self._transport)

    @cached_property
    def events(self) -> Events:
        """Read and follow the log of lifecycle events."""
        from ojs_aws.client.areas.events import Events

        return Events(self._transport, self._timer)

    @cached_property
    def system(self) -> System:
        """Read the statistics and settings of the whole deployment."""
        from ojs_aws.client.areas.system import System

        return System(self._transport)
