"""Give the client its areas, which offer more than enqueueing: one attribute for each.

Producers use none of them. So each is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ojs_aws.client.timer import Timer
from ojs_aws.client.transports.transport import Transport

if TYPE_CHECKING:
    from ojs_aws.client.areas.admin import Admin
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

    admin: Admin
    """Operations for operators: dead letters, queues, health."""
    workflows: WorkflowOperations
    """Read, list, cancel and wait for workflows."""
    cron: CronJobs
    """Register, read, pause, trigger and remove cron jobs."""
    schemas: Schemas
    """Register, read and remove the schemas of job types."""
    queues: Queues
    """Read, create, configure, pause, drain and purge queues."""
    workers: Workers
    """List workers, and send them directives."""
    dead_letter: DeadLetterJobs
    """Inspect, retry and remove dead letters."""
    jobs: Jobs
    """Find jobs, read their history, and retry, cancel and delete them in bulk."""
    events: Events
    """Read and follow the log of lifecycle events."""
    system: System
    """Read the statistics and settings of the whole deployment."""

    def __init__(self, transport: Transport, timer: Timer) -> None:
        """Keep the transport; each area is made when it is first used."""
        self._transport = transport
        self._timer = timer

    if not TYPE_CHECKING:  # a type checker would take any misspelt name for granted

        def __getattr__(self, name: str) -> object:
            """Make an area at its first use; the package exports each under its class's name."""
            kind = Areas.__annotations__.get(name)
            if kind is None:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            package = importlib.import_module("ojs_aws.client")
            area = getattr(package, kind)(self._transport, self._timer)
            setattr(self, name, area)
            return area
