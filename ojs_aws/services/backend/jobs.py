"""Makes the services of jobs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ojs_aws.services.backend.foundation import FeatureServices

if TYPE_CHECKING:
    from ojs_aws.domain.credentials import Actor
    from ojs_aws.middleware.enqueuer import Enqueuer
    from ojs_aws.services.backend.foundation import Foundation
    from ojs_aws.services.backend.queues import QueueServices
    from ojs_aws.services.jobs.ack import Ack
    from ojs_aws.services.jobs.fail import Fail
    from ojs_aws.services.jobs.fetch.service import Fetch
    from ojs_aws.services.jobs.fetch.wide_queue import WideQueues
    from ojs_aws.services.jobs.new_jobs import NewJobs
    from ojs_aws.services.jobs.one_job import Info, JobChanges
    from ojs_aws.services.jobs.push import Push
    from ojs_aws.services.jobs.search import JobSearch
    from ojs_aws.services.jobs.transact import Transact
    from ojs_aws.services.jobs.why import Why
    from ojs_aws.services.schemas.registry import SchemaRegistry
    from ojs_aws.services.schemas.validation import SchemaValidation
    from ojs_aws.services.stored_jobs.change import JobChange


class SchemaServices(FeatureServices):
    """Holds the registry of schemas and the check of arguments against them."""

    @cached_property
    def registry(self) -> SchemaRegistry:
        """Return the registry of job types' schemas."""
        from ojs_aws.services.schemas.registry import SchemaRegistry

        return SchemaRegistry(self._shared.stores.schemas(), self._shared.clock)

    @cached_property
    def validation(self) -> SchemaValidation:
        """Return the service that checks arguments against schemas."""
        from ojs_aws.services.schemas.validation import SchemaValidation

        stores = self._shared.stores
        return SchemaValidation(stores.schemas(), self._shared.clock, stores.processor_s)


class JobServices(FeatureServices):
    """Holds the operations on jobs."""

    def __init__(self, shared: Foundation, queues: QueueServices, schemas: SchemaServices) -> None:
        """Make nothing yet."""
        super().__init__(shared)
        self._queues = queues
        self._schemas = schemas

    @cached_property
    def push(self) -> Push:
        """Return the operation PUSH."""
        return self.push_through(self._shared.stores.enqueuing())

    def push_through(self, enqueuing: Enqueuer, *, is_internal: bool = False) -> Push:
        """Return PUSH with a middleware chain of its own.

        :param is_internal: the jobs come from the backend itself, as those of a workflow do.
        """
        from ojs_aws.services.jobs.build import JobBuilder
        from ojs_aws.services.jobs.push import Push

        shared, settings = self._shared, self._shared.settings
        job_builder = JobBuilder(
            clock=shared.clock,
            ids=shared.ids,
            rules=self._queues.rules,
            max_envelope_bytes=settings.max_envelope_bytes,
            default_timeout_ms=shared.default_timeout_ms,
            schemas=lambda: self._schemas.validation,
            settings=self._queues.push_settings,
            lines=shared.lines,
            tenants=lambda: self._queues.tenant_settings,
            is_internal=is_internal,
            needs_tenant=settings.require_tenant and not is_internal,
        )
        return Push(
            clock=shared.clock,
            enqueuing=enqueuing,
            job_builder=job_builder,
            new_jobs=self.new_jobs,
            max_batch_jobs=settings.max_batch_jobs,
            tenant_limits=lambda: self._queues.tenant_limits,
            limits_all_tenants=bool(settings.tenant_limits),
            places=lambda: shared.fair_places,
        )

    @cached_property
    def new_jobs(self) -> NewJobs:
        """Return the service that stores new jobs."""
        from ojs_aws.services.jobs.new_jobs import NewJobs

        shared = self._shared
        return NewJobs(
            store=shared.stores.store,
            job_messages=shared.job_messages,
            clock=shared.clock,
            limits=shared.stores.limits,
            unique=lambda: shared.unique,
            batch_push=lambda: shared.batch_push,
            backpressure=self._queues.backpressure,
        )

    @cached_property
    def transact(self) -> Transact:
        """Return the service that enqueues in an application's own transaction."""
        from ojs_aws.services.jobs.transact import Transact

        shared = self._shared
        return Transact(self.push, shared.stores.unique, lambda: shared.unique)

    @cached_property
    def fetch(self) -> Fetch:
        """Return the operation FETCH."""
        from ojs_aws.services.jobs.fetch.service import Fetch
        from ojs_aws.services.limits.check import LimitedTypes

        shared, stores, settings = self._shared, self._shared.stores, self._shared.settings
        return Fetch(
            messages=stores.messages,
            changer=shared.changer,
            job_messages=shared.job_messages,
            parallel=stores.parallel,
            default_timeout_ms=shared.default_timeout_ms,
            visibility=shared.visibility,
            max_count=settings.max_fetch_count,
            wait_ms=settings.fetch_wait_ms,
            draining=shared.drain_state,
            limits=stores.limits,
            limited_types=LimitedTypes(stores.limits, shared.clock, shared.most_of_tenant),
            new_reservation_id=stores.new_reservation_id,
            wide=self._wide(),
        )

    def _wide(self) -> WideQueues | None:
        """Return what chooses the lines of wide queues; None where there are none."""
        lines, stores = self._shared.lines, self._shared.stores
        if not lines:
            return None
        from ojs_aws.services.jobs.fetch.wide_queue import WideQueues

        return WideQueues(lines, stores.store, stores.clock, stores.parallel)

    @cached_property
    def ack(self) -> Ack:
        """Return the operation ACK."""
        from ojs_aws.services.jobs.ack import Ack

        shared, settings = self._shared, self._shared.settings
        return Ack(
            changer=shared.changer,
            job_messages=shared.job_messages,
            max_result_bytes=settings.max_result_bytes,
            leaves_messages=settings.stream_deletes_messages,
            leaves_listings=settings.stream_lists_completed,
        )

    @cached_property
    def fail(self) -> Fail:
        """Return the operation FAIL."""
        from ojs_aws.services.jobs.fail import Fail

        shared, settings = self._shared, self._shared.settings
        redacts = (settings.redact_backtraces, settings.redact_messages)
        return Fail(shared.changer, shared.job_messages, shared.stores.limits, *redacts)

    @cached_property
    def changes(self) -> JobChanges:
        """Return the service that changes one job; its methods are the operations."""
        from ojs_aws.services.jobs.one_job import JobChanges

        return JobChanges(self._shared.changer, self._shared.job_messages)

    def activate(self, job_id: str) -> JobChange:
        """Do the operation ACTIVATE."""
        return self.changes.activate(job_id)

    def cancel(self, job_id: str, by: Actor | None = None) -> JobChange:
        """Do the operation CANCEL."""
        return self.changes.cancel(job_id, by)

    @cached_property
    def info(self) -> Info:
        """Return the operation INFO."""
        from ojs_aws.services.jobs.one_job import Info

        return Info(self._shared.stores.store, self._shared.changer)

    @cached_property
    def search(self) -> JobSearch:
        """Return the service that finds jobs for operators."""
        from ojs_aws.services.jobs.job_lists import ListCounts
        from ojs_aws.services.jobs.search import JobSearch

        stores = self._shared.stores
        counts = ListCounts(stores.store, stores.tallies)
        return JobSearch(stores.store, stores.queues, stores.clock, counts)

    @cached_property
    def why(self) -> Why:
        """Return the service that says why a job does not run."""
        from ojs_aws.services.jobs.why import Why

        stores, queues = self._shared.stores, self._queues
        return Why(
            info=self.info,
            store=stores.store,
            queues=stores.queues,
            messages=stores.messages,
            workers=stores.workers,
            minutes=queues.statistics.minutes,
            sequences=stores.sequences,
            limit_of_binding=queues.bindings.limit_of,
            lines=self._shared.lines,
            most_of_tenant=self._shared.most_of_tenant,
        )
