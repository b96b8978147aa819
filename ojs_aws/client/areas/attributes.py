"""Give the client its areas: one attribute for each.

Producers use none of them. So each is imported when it is first used.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ojs_aws.client.timer import Timer
from ojs_aws.client.transports.requests import Transport

if TYPE_CHECKING:
    from ojs_aws.client.areas.cron import CronJobs
    from ojs_aws.client.areas.dead_letters import Admin, DeadLetterJobs
    from ojs_aws.client.areas.events import Events
    from ojs_aws.client.areas.jobs import Jobs
    from ojs_aws.client.areas.limits import RateLimits
    from ojs_aws.client.areas.queues import Queues
    from ojs_aws.client.areas.schemas import Schemas
    from ojs_aws.client.areas.system import System
    from ojs_aws.client.areas.tenants import Tenants
    from ojs_aws.client.areas.workers import Workers
    from ojs_aws.client.areas.workflows import WorkflowOperations


class Areas:
    """Offers one attribute for each area, over one transport, which it closes."""

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
    rate_limits: RateLimits
    """Read, set and remove the limits on how jobs begin."""
    tenants: Tenants
    """Read what tenants have and did."""
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

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the client."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


def _made_late(kind: str) -> cached_property[object]:
    """Return an attribute that makes an area at its first use.

    :param kind: the name of its class, by which the package exports it.
    """

    def make(areas: Areas) -> object:
        package = importlib.import_module("ojs_aws.client")
        area: object = getattr(package, kind)(areas._transport, areas._timer)  # noqa: SLF001
        return area

    return cached_property(make)


for _name, _kind in Areas.__annotations__.items():
    _area = _made_late(_kind)
    _area.__set_name__(Areas, _name)
    setattr(Areas, _name, _area)
