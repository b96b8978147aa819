"""Makes the services that change many jobs by one request."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.backend.jobs import JobServices
    from ojs_aws.services.bulk.by_filter import BulkByFilter, BulkPriority
    from ojs_aws.services.bulk.changes import BulkChanges
    from ojs_aws.services.bulk.engine import BulkEngine
    from ojs_aws.services.bulk.enqueue import BulkEnqueue
    from ojs_aws.services.bulk.idempotency import CompletionEvents, IdempotentRequests


class BulkServices:
    """Holds the bulk operations on jobs."""

    def __init__(self, shared: Foundation, jobs: JobServices) -> None:
        """Make nothing yet."""
        self._shared = shared
        self._jobs = jobs

    @property
    def engine(self) -> BulkEngine:
        """Return a new engine of bulk changes."""
        from ojs_aws.services.bulk.engine import BulkEngine

        shared = self._shared
        return BulkEngine(shared.changer, shared.job_messages)

    @cached_property
    def enqueue(self) -> BulkEnqueue:
        """Return the service that enqueues many jobs, each with its result."""
        from ojs_aws.services.bulk.enqueue import BulkEnqueue

        return BulkEnqueue(self._jobs.push, self._shared.clock)

    @cached_property
    def changes(self) -> BulkChanges:
        """Return the service that cancels, retries or deletes many jobs."""
        from ojs_aws.services.bulk.changes import BulkChanges

        return BulkChanges(self.engine, self._jobs.search, self._shared.stores.unique)

    @cached_property
    def by_filter(self) -> BulkByFilter:
        """Return the service of operators' bulk operations on jobs."""
        from ojs_aws.services.bulk.by_filter import BulkByFilter

        return BulkByFilter(self.engine, self._jobs.search)

    @cached_property
    def priority(self) -> BulkPriority:
        """Return the service that gives the jobs of a filter a priority."""
        from ojs_aws.services.bulk.by_filter import BulkPriority

        return BulkPriority(self.engine, self._jobs.search)

    @cached_property
    def idempotency(self) -> IdempotentRequests:
        """Return the service that runs a bulk operation once for its idempotency key."""
        from ojs_aws.services.bulk.idempotency import IdempotentRequests

        return IdempotentRequests(self._shared.stores.bulk(), self._shared.clock)

    @cached_property
    def completion_events(self) -> CompletionEvents:
        """Return the service that publishes finished bulk operations."""
        from ojs_aws.services.bulk.idempotency import CompletionEvents

        shared = self._shared
        return CompletionEvents(shared.stores.bulk(), shared.clock, shared.ids)
