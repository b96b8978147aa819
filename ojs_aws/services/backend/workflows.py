"""Makes the services of workflows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.backend.jobs import JobServices
    from ojs_aws.services.workflows.advance import WorkflowAdvance
    from ojs_aws.services.workflows.service import WorkflowService


class WorkflowServices:
    """Holds workflows and what moves them on."""

    def __init__(self, shared: Foundation, jobs: JobServices) -> None:
        """Make nothing yet."""
        self._shared = shared
        self._jobs = jobs

    @cached_property
    def service(self) -> WorkflowService:
        """Return the service of workflows."""
        from ojs_aws.services.workflows.service import WorkflowService

        shared = self._shared
        return WorkflowService(
            workflows=self.advance.workflows,
            push=self._jobs.push,
            changer=shared.changer,
            workflow_advance=self.advance,
            ids=shared.ids,
        )

    @cached_property
    def advance(self) -> WorkflowAdvance:
        """Return the service that moves workflows on.

        Their jobs have passed the middleware already.
        """
        from ojs_aws.middleware.chain.enqueue import EnqueueChain
        from ojs_aws.middleware.enqueuer import Enqueuer
        from ojs_aws.services.workflows.advance import WorkflowAdvance

        shared = self._shared
        return WorkflowAdvance(
            workflows=shared.stores.workflows(),
            push=self._jobs.push_through(Enqueuer(EnqueueChain()), is_internal=True),
            changer=shared.changer,
            job_messages=shared.job_messages,
        )
