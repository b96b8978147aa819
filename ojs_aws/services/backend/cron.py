"""Makes the services of cron jobs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.backend.jobs import JobServices
    from ojs_aws.services.cron.scheduler import CronScheduler
    from ojs_aws.services.cron.service import Cron


class CronServices:
    """Holds cron jobs and what fires them."""

    def __init__(self, shared: Foundation, jobs: JobServices) -> None:
        """Make nothing yet."""
        self._shared = shared
        self._jobs = jobs

    @cached_property
    def service(self) -> Cron:
        """Return the service of cron jobs."""
        from ojs_aws.services.cron.service import Cron

        firing = self.scheduler
        clock = self._shared.clock
        return Cron(entries=firing.entries, firing=firing, push=self._jobs.push, clock=clock)

    @cached_property
    def scheduler(self) -> CronScheduler:
        """Return the service that fires cron jobs."""
        from ojs_aws.services.cron.scheduler import CronScheduler

        shared, jobs = self._shared, self._jobs
        return CronScheduler(
            entries=shared.stores.cron(),
            wake_ups=shared.stores.wake_ups(),
            push=jobs.push,
            changer=shared.changer,
            cancel=jobs.cancel,
            activate=jobs.activate,
            ids=shared.ids,
        )
