"""Makes the services of what jobs leave: results, checkpoints and progress."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.outcomes.checkpoints import Checkpoints
    from ojs_aws.services.outcomes.progress import JobProgress
    from ojs_aws.services.outcomes.results import Results


class OutcomeServices:
    """Holds results, checkpoints and progress."""

    def __init__(self, shared: Foundation) -> None:
        """Make nothing yet."""
        self._shared = shared

    @cached_property
    def results(self) -> Results:
        """Return the service that reads outcomes of jobs."""
        from ojs_aws.services.outcomes.results import Results

        stores, settings = self._shared.stores, self._shared.settings
        return Results(self._shared.changer, stores.pause, settings.result_wait_ms)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Return the service of jobs' checkpoints."""
        from ojs_aws.services.outcomes.checkpoints import Checkpoints

        return Checkpoints(self._shared.changer)

    @cached_property
    def progress(self) -> JobProgress:
        """Return the operation PROGRESS."""
        from ojs_aws.services.outcomes.progress import JobProgress

        shared = self._shared
        return JobProgress(shared.changer, shared.job_messages, shared.visibility, self.checkpoints)
