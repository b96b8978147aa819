"""Lists the ports that the services need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.middleware.enqueuer import Enqueuer
    from ojs_aws.ports import (
        Announce,
        Batches,
        BulkRequests,
        ClientBuckets,
        Clock,
        CronAlarms,
        CronEntries,
        Depths,
        EventLog,
        IdGenerator,
        JobStore,
        Limits,
        Marks,
        MessageQueue,
        Pressures,
        QueueRegistry,
        Schemas,
        SettingsBook,
        Tallies,
        Triggers,
        UniqueJobs,
        WorkerRegistry,
        Workflows,
    )
    from ojs_aws.services.batches.steps import ForEach
    from ojs_aws.services.jobs.fetch.service import Both
    from ojs_aws.services.upkeep.sweep import Each


def _nobody(_: object) -> tuple[()]:
    """Publish and refuse nothing: there is no bus."""
    return ()


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

    store: JobStore
    messages: MessageQueue
    queues: QueueRegistry
    workers: Callable[[], WorkerRegistry]
    marks: Callable[[], Marks]
    events: Callable[[], EventLog]
    cron: Callable[[], CronEntries]
    alarms: Callable[[], CronAlarms]
    schemas: Callable[[], Schemas]
    unique: Callable[[], UniqueJobs]
    workflows: Callable[[], Workflows]
    limits: Callable[[], Limits]
    client_buckets: Callable[[], ClientBuckets]
    batches: Callable[[], Batches]
    bulk: Callable[[], BulkRequests]
    settings_book: Callable[[], SettingsBook]
    depths: Callable[[], Depths]
    tallies: Callable[[], Tallies]
    pressures: Callable[[], Pressures]
    clock: Clock
    ids: IdGenerator
    new_reservation_id: Callable[[], str]
    enqueuing: Callable[[], Enqueuer]
    both: Both
    each: Each | None = None
    spread: ForEach | None = None
    announce: Callable[[], Announce] = lambda: _nobody
    triggers: Callable[[], Triggers] = NoTriggers
    pause: Callable[[float], None] = lambda _: None
