"""Lists the ports that the services need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws import ports
    from ojs_aws.middleware.enqueuer import Enqueuer
    from ojs_aws.ports.for_each import ForEach
    from ojs_aws.services.jobs.fetch.service import Both
    from ojs_aws.services.upkeep.sweep import Each


class NoTriggers:
    """Stands for a deployment without Lambda workers."""

    def running(self, _queue: str) -> list[str]:
        """Return no triggers."""
        return []

    def switch(self, _ids: Sequence[str], *, is_on: bool) -> None:
        """Switch nothing."""


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Holds everything the services need from the world; rarely needed parts are made by a call."""

    store: ports.JobStore
    messages: ports.MessageQueue
    queues: ports.QueueRegistry
    workers: Callable[[], ports.WorkerRegistry]
    marks: Callable[[], ports.Marks]
    events: Callable[[], ports.EventLog]
    cron: Callable[[], ports.CronEntries]
    alarms: Callable[[], ports.CronAlarms]
    schemas: Callable[[], ports.Schemas]
    unique: Callable[[], ports.UniqueJobs]
    workflows: Callable[[], ports.Workflows]
    limits: Callable[[], ports.Limits]
    client_buckets: Callable[[], ports.ClientBuckets]
    batches: Callable[[], ports.Batches]
    bulk: Callable[[], ports.BulkRequests]
    settings_book: Callable[[], ports.SettingsBook]
    depths: Callable[[], ports.Depths]
    tallies: Callable[[], ports.Tallies]
    failure_groups: Callable[[], ports.FailureGroups]
    api_keys: Callable[[], ports.ApiKeys]
    pressures: Callable[[], ports.Pressures]
    clock: ports.Clock
    ids: ports.IdGenerator
    new_reservation_id: Callable[[], str]
    enqueuing: Callable[[], Enqueuer]
    both: Both
    each: Each | None = None
    spread: ForEach | None = None
    announce: Callable[[], ports.Announce] = lambda: lambda _: ()
    triggers: Callable[[], ports.Triggers] = NoTriggers
    pause: Callable[[float], None] = lambda _: None
    processor_s: Callable[[], float] = lambda: 0.0

    def made_once(self) -> Ports:
        """Return these ports; what several services ask for is made by the first of them."""
        return replace(
            self,
            limits=cache(self.limits),
            settings_book=cache(self.settings_book),
            depths=cache(self.depths),
            tallies=cache(self.tallies),
            failure_groups=cache(self.failure_groups),
            pressures=cache(self.pressures),
        )
