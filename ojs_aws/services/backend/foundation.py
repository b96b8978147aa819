"""Makes what every service shares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.jobs.change import JobChanger
from ojs_aws.services.jobs.messages import JobMessages
from ojs_aws.services.workers.liveness import DrainState, VisibilityTimeouts

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.events.log import EventLog
    from ojs_aws.config import Settings
    from ojs_aws.domain.job import JobRecord
    from ojs_aws.services.backend.stores import Stores
    from ojs_aws.services.batches.push import BatchPush
    from ojs_aws.services.unique.admit import Uniqueness


class Foundation:
    """Holds what all services share.

    The storing of batches is part of it: whoever misses a job may have to finish that first.
    """

    def __init__(self, settings: Settings, stores: Stores) -> None:
        """Make only what needs no other service."""
        self.settings = settings
        self.stores = stores = stores.made_once()
        self.clock = stores.clock
        self.ids = stores.ids
        self.changer = JobChanger(stores.store, stores.clock, self._missing)
        self.job_messages = JobMessages(stores.messages, stores.queues)
        self.default_timeout_ms = settings.default_timeout_s * 1000
        self.visibility = VisibilityTimeouts(
            settings.default_visibility_timeout_s * 1000,
            {name: seconds * 1000 for name, seconds in settings.queue_visibility_timeouts_s},
        )
        self.drain_state = DrainState()

    def _missing(self, job_ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the jobs of committed batches that are not in their places yet."""
        return self.batch_push.rescue(job_ids)

    @cached_property
    def events(self) -> EventLog:
        """Return the log of lifecycle events."""
        return self.stores.events()

    @cached_property
    def batch_push(self) -> BatchPush:
        """Return the service that stores batches beyond one transaction."""
        from ojs_aws.services.batches.push import BatchPush
        from ojs_aws.services.limits.check import note_limits

        def note(jobs: Sequence[JobRecord]) -> None:
            note_limits(self.stores.limits, jobs, self.clock.now())

        return BatchPush(
            store=self.stores.store,
            batches=self.stores.batches(),
            job_messages=self.job_messages,
            clock=self.clock,
            unique=lambda: self.unique,
            note=note,
            parallel=self.stores.parallel,
        )

    @cached_property
    def unique(self) -> Uniqueness:
        """Return the service that admits jobs with a unique policy."""
        from ojs_aws.services.unique.admit import Uniqueness

        def decide(batch_id: str) -> bool:
            return self.batch_push.batches.decide(batch_id, None, self.clock.now()).is_committed

        return Uniqueness(self.stores.unique(), self.changer, decide)
