"""Makes the services for producers: jobs are enqueued, read and cancelled."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.foundation import Foundation

if TYPE_CHECKING:
    from ojs_aws.middleware.enqueuer import Enqueuer
    from ojs_aws.services.bulk.enqueue import BulkEnqueue
    from ojs_aws.services.bulk.idempotency import CompletionEvents, IdempotentRequests
    from ojs_aws.services.jobs.new_jobs import NewJobs
    from ojs_aws.services.jobs.one_job import Activate, Cancel, Info
    from ojs_aws.services.jobs.push import Push
    from ojs_aws.services.jobs.transact import Transact
    from ojs_aws.services.outcomes.results import Results
    from ojs_aws.services.queues.backpressure import Backpressure
    from ojs_aws.services.queues.depth_recount import DepthRecount
    from ojs_aws.services.queues.push_settings import PushSettingsCache
    from ojs_aws.services.schemas.validation import SchemaValidation


class ProducerServices(Foundation):
    """Holds PUSH and the operations on enqueued jobs."""

    @cached_property
    def push(self) -> Push:
        """Return the operation PUSH."""
        return self._push(self.ports.enqueuing())

    def _push(self, enqueuing: Enqueuer, *, is_internal: bool = False) -> Push:
        """Return PUSH with a middleware chain of its own.

        :param is_internal: the jobs come from the backend itself, as those of a workflow do.
        """
        from ojs_aws.services.jobs.build import JobBuilder
        from ojs_aws.services.jobs.push import Push

        settings = self.settings
        job_builder = JobBuilder(
            clock=self.clock,
            ids=self.ids,
            rules=self._rules,
            max_envelope_bytes=settings.max_envelope_bytes,
            default_timeout_ms=self._timeout_ms,
            schemas=lambda: self.schema_checking,
            terms=self.queue_terms,
            is_internal=is_internal,
        )
        return Push(
            clock=self.ports.clock,
            enqueuing=enqueuing,
            job_builder=job_builder,
            new_jobs=self.new_jobs,
            max_batch_jobs=settings.max_batch_jobs,
        )

    @cached_property
    def new_jobs(self) -> NewJobs:
        """Return the service that stores new jobs."""
        from ojs_aws.services.jobs.new_jobs import NewJobs

        return NewJobs(
            store=self.ports.store,
            job_messages=self.job_messages,
            clock=self.ports.clock,
            limits=self._limits,
            unique=lambda: self.unique,
            batch_push=lambda: self.batch_push,
            backpressure=self.backpressure,
        )

    @cached_property
    def queue_terms(self) -> PushSettingsCache:
        """Return the queues' settings for PUSH."""
        from ojs_aws.services.queues.push_settings import PushSettingsCache

        return PushSettingsCache(self._book, self.clock, self.settings.queue_settings_age_ms)

    @cached_property
    def backpressure(self) -> Backpressure:
        """Return the service that keeps the bounds of queues."""
        from ojs_aws.services.queues.backpressure import Backpressure

        return Backpressure(self._depths, self._pressures, self.queue_terms, self.clock)

    @cached_property
    def depth_recount(self) -> DepthRecount:
        """What keeps the counters of bounded queues true."""
        from ojs_aws.services.queues.depth_recount import DepthRecount

        return DepthRecount(self._depths, self.clock)

    @cached_property
    def schema_checking(self) -> SchemaValidation:
        """Return the service that checks arguments against schemas."""
        from ojs_aws.services.schemas.validation import SchemaValidation

        return SchemaValidation(self.ports.schemas(), self.clock)

    @cached_property
    def transacting(self) -> Transact:
        """Return the service that enqueues in an application's own transaction."""
        from ojs_aws.services.jobs.transact import Transact

        return Transact(self.push, self.ports.unique, lambda: self.unique)

    @cached_property
    def bulk_enqueue(self) -> BulkEnqueue:
        """Return the service that enqueues many jobs, each with its result."""
        from ojs_aws.services.bulk.enqueue import BulkEnqueue

        return BulkEnqueue(self.push, self.clock)

    @cached_property
    def once(self) -> IdempotentRequests:
        """Return the service that runs a bulk operation once for its idempotency key."""
        from ojs_aws.services.bulk.idempotency import IdempotentRequests

        return IdempotentRequests(self.ports.bulk(), self.clock)

    @cached_property
    def telling(self) -> CompletionEvents:
        """Return the service that publishes finished bulk operations."""
        from ojs_aws.services.bulk.idempotency import CompletionEvents

        return CompletionEvents(self.ports.bulk(), self.clock, self.ids)

    @cached_property
    def cancel(self) -> Cancel:
        """Return the operation CANCEL."""
        from ojs_aws.services.jobs.one_job import Cancel

        return Cancel(self.changer, self.job_messages)

    @cached_property
    def activate(self) -> Activate:
        """Return the operation ACTIVATE."""
        from ojs_aws.services.jobs.one_job import Activate

        return Activate(self.changer, self.job_messages)

    @cached_property
    def info(self) -> Info:
        """Return the operation INFO."""
        from ojs_aws.services.jobs.one_job import Info

        return Info(self.ports.store, self.changer)

    @cached_property
    def results(self) -> Results:
        """Return the service that reads outcomes of jobs."""
        from ojs_aws.services.outcomes.results import Results

        return Results(
            self.ports.store, self.changer, self.ports.pause, self.settings.result_wait_ms
        )
