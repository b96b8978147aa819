"""The client's areas: what it can do beside enqueuing, each with its own name.

Producers use none of these, so that each is imported when it is first asked for.
"""

# ruff: noqa: PLC0415 - imports wait for their area, see above
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.client.timer import Timer
from ojs_aws.client.transport import Transport

if TYPE_CHECKING:
    from ojs_aws.client.cron import CronJobs
    from ojs_aws.client.dead_letters import DeadLetterJobs
    from ojs_aws.client.events import Events
    from ojs_aws.client.jobs import Jobs
    from ojs_aws.client.queues import Queues
    from ojs_aws.client.schemas import Schemas
    from ojs_aws.client.system import System
    from ojs_aws.client.workers import Workers
    from ojs_aws.client.workflows import WorkflowOperations


class Areas:
    """One attribute for each area, over one transport."""

    def __init__(self, transport: Transport, timer: Timer) -> None:
        """Make nothing yet."""
        self._transport = transport
        self._timer = timer

    @cached_property
    def workflows(self) -> WorkflowOperations:
        """Workflows: to read, list, cancel and wait for."""
        from ojs_aws.client.workflows import WorkflowOperations

        return WorkflowOperations(self._transport, self._timer)

    @cached_property
    def cron(self) -> CronJobs:
        """Cron jobs."""
        from ojs_aws.client.cron import CronJobs

        return CronJobs(self._transport)

    @cached_property
    def schemas(self) -> Schemas:
        """Schemas of job types: to register, read and remove."""
        from ojs_aws.client.schemas import Schemas

        return Schemas(self._transport)

    @cached_property
    def queues(self) -> Queues:
        """Queues: what they hold, pausing and resuming."""
        from ojs_aws.client.queues import Queues

        return Queues(self._transport)

    @cached_property
    def workers(self) -> Workers:
        """Workers: who beats, and what each is told to be."""
        from ojs_aws.client.workers import Workers

        return Workers(self._transport)

    @cached_property
    def dead_letter(self) -> DeadLetterJobs:
        """Dead letters: to inspect, retry and remove."""
        from ojs_aws.client.dead_letters import DeadLetterJobs

        return DeadLetterJobs(self._transport)

    @cached_property
    def jobs(self) -> Jobs:
        """Jobs: to find, to read with their history, to retry, cancel and delete in bulk."""
        from ojs_aws.client.jobs import Jobs

        return Jobs(self._transport)

    @cached_property
    def events(self) -> Events:
        """The log of lifecycle events."""
        from ojs_aws.client.events import Events

        return Events(self._transport, self._timer)

    @cached_property
    def system(self) -> System:
        """The deployment as a whole: statistics and settings."""
        from ojs_aws.client.system import System

        return System(self._transport)
