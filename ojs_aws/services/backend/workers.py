"""Makes the services for workers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.foundation import Foundation

if TYPE_CHECKING:
    from ojs_aws.services.jobs.ack import Ack
    from ojs_aws.services.jobs.fail import Fail
    from ojs_aws.services.jobs.fetch.service import Fetch
    from ojs_aws.services.outcomes.checkpoints import Checkpoints
    from ojs_aws.services.outcomes.progress import JobProgress
    from ojs_aws.services.workers.heartbeat import Heartbeat


class WorkerServices(Foundation):
    """Holds the reservation of jobs, and what their execution leaves."""

    @cached_property
    def fetch(self) -> Fetch:
        """Return the operation FETCH."""
        from ojs_aws.services.jobs.fetch.service import Fetch
        from ojs_aws.services.limits.check import LimitedTypes

        return Fetch(
            store=self.ports.store,
            messages=self.ports.messages,
            changer=self.changer,
            job_messages=self.job_messages,
            both=self.ports.both,
            default_timeout_ms=self._timeout_ms,
            visibility=self._visibility,
            max_count=self.settings.max_fetch_count,
            wait_ms=self.settings.fetch_wait_ms,
            draining=self._drain_state,
            limits=self._limits,
            limited_types=LimitedTypes(self._limits, self.clock),
            new_reservation_id=self.ports.new_reservation_id,
        )

    @cached_property
    def ack(self) -> Ack:
        """Return the operation ACK."""
        from ojs_aws.services.jobs.ack import Ack

        return Ack(
            self.ports.store, self.changer, self.job_messages, self.settings.max_result_bytes
        )

    @cached_property
    def fail(self) -> Fail:
        """Return the operation FAIL."""
        from ojs_aws.services.jobs.fail import Fail

        settings = self.settings
        redacts = (settings.redact_backtraces, settings.redact_messages)
        return Fail(self.changer, self.job_messages, self._limits, *redacts)

    @cached_property
    def heartbeat(self) -> Heartbeat:
        """Return the operation BEAT."""
        from ojs_aws.services.workers.heartbeat import Heartbeat

        return Heartbeat(
            self.ports.store,
            self.ports.workers(),
            self.changer,
            self.job_messages,
            self._visibility,
            self._drain_state,
        )

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Return the service of jobs' checkpoints."""
        from ojs_aws.services.outcomes.checkpoints import Checkpoints

        return Checkpoints(self.ports.store, self.changer)

    @cached_property
    def progress(self) -> JobProgress:
        """Return the operation PROGRESS."""
        from ojs_aws.services.outcomes.progress import JobProgress

        return JobProgress(self.changer, self.job_messages, self._visibility, self.checkpoints)
