"""Derived by scripts/sync_stub.py from the asynchronous classes: do not edit."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from ojs_aws.client.areas.cron import CronJob
from ojs_aws.client.areas.cron import CronTrigger
from ojs_aws.client.areas.dead_letters import BulkResult
from ojs_aws.client.areas.dead_letters import DeadLetterFilter
from ojs_aws.client.areas.entries import BindingEntry
from ojs_aws.client.areas.entries import JobBulkResult
from ojs_aws.client.areas.entries import JobDiagnosis
from ojs_aws.client.areas.entries import JobEntry
from ojs_aws.client.areas.entries import JobFilter
from ojs_aws.client.areas.entries import JobPage
from ojs_aws.client.areas.entries import Purged
from ojs_aws.client.areas.entries import QueueDetail
from ojs_aws.client.areas.entries import QueueEntry
from ojs_aws.client.areas.entries import QueueNumbers
from ojs_aws.client.areas.entries import QueueSettings
from ojs_aws.client.areas.events import EventFilter
from ojs_aws.client.areas.events import EventList
from ojs_aws.client.areas.jobs import BulkAction
from ojs_aws.client.areas.limits import LimitEntry
from ojs_aws.client.areas.limits import LimitList
from ojs_aws.client.areas.outcomes import JobCheckpoint
from ojs_aws.client.areas.outcomes import JobOutcome
from ojs_aws.client.areas.outcomes import JobProgress
from ojs_aws.client.areas.schemas import JobSchema
from ojs_aws.client.areas.sequences import SequenceEntry
from ojs_aws.client.areas.sequences import SequenceList
from ojs_aws.client.areas.system import ApiKeyEntry
from ojs_aws.client.areas.system import Caller
from ojs_aws.client.areas.system import ErrorReport
from ojs_aws.client.areas.system import FindingsReport
from ojs_aws.client.areas.tenants import TenantEntry
from ojs_aws.client.areas.tenants import TenantList
from ojs_aws.client.areas.workers import DirectedWorkers
from ojs_aws.client.areas.workers import PoolEntry
from ojs_aws.client.areas.workers import WorkerEntry
from ojs_aws.client.areas.workers import WorkerList
from ojs_aws.client.areas.workflow_parts import AsWorkflow
from ojs_aws.client.areas.workflow_parts import WorkflowParts
from ojs_aws.client.areas.workflows import WorkflowList
from ojs_aws.client.areas.workflows import WorkflowStatus
from ojs_aws.client.client import Client
from ojs_aws.client.insertion import AsJob
from ojs_aws.client.results import DeadLetters
from ojs_aws.client.results import EnqueueResult
from ojs_aws.client.results import PreparedJob
from ojs_aws.client.results import TransactItems
from ojs_aws.client.transports.connection import Resends
from ojs_aws.client.transports.credentials import Credentials
from ojs_aws.config import Settings
from ojs_aws.domain.cron import CronOptions
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.jobs.attributes import Duration
from ojs_aws.domain.jobs.attributes import JobAttributes
from ojs_aws.domain.json_text import RawJson
from ojs_aws.domain.schemas import SchemaVersion
from ojs_aws.middleware.chain.enqueue import EnqueueChain
from ojs_aws.middleware.hooks import Hooks
from ojs_aws.services.backend import Backend
from typing import Self
from typing import Unpack
import builtins

class SyncAdmin:
    """:class:`Admin` for code that is not asynchronous."""

    def dead_letters(self, queue: str | None=None, *, limit: int=50, cursor: str='') -> DeadLetters:
        """List a page of discarded jobs that their retry policy kept.

        :param cursor: from the page before.
        """

    def retry_dead_letter(self, job_id: str) -> Job:
        """Make a discarded job available again: attempt 0, its errors cleared.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """

    def delete_dead_letter(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """

    def queues(self) -> builtins.list[dict[str, JsonValue]]:
        """List the queues with all that the backend says of each; ``name`` is always there."""

    def health(self) -> dict[str, JsonValue]:
        """Return the health of the backend; ``status`` is always there.

        :raises BackendError: it could not be reached.
        """
class SyncCronJobs:
    """:class:`CronJobs` for code that is not asynchronous."""

    def register(self, name: str, cron: str, job: Job | AsJob | str, args: Sequence[JsonValue]=(), **options: Unpack[CronOptions]) -> CronJob:
        """Register a cron job, or change the one of this name. Applications do so at each start.

        :param cron: such as ``0 9 * * MON-FRI``, ``@hourly`` or ``@every 30m``.
        :param job: what is enqueued: a job, whose id does not matter, a call of a typed job, or a
            type with ``args``.
        :param options: ``timezone`` (an IANA name, UTC by default; the expression is read in local
            time), ``overlap_policy`` (what happens when the run before is still active),
            ``enabled`` and ``description``.
        :raises InvalidRequestError: naming what is at fault, and the field of the expression.
        :raises TypeError: neither a job nor a type, or ``args`` beside a job.

        Example::

            await client.cron.register("report", "0 9 * * *", Job("report.make", ["daily"]))
        """

    def get(self, name: str) -> CronJob:
        """Read a cron job.

        :raises NotFoundError: there is none of this name.
        """

    def list(self, *, enabled: bool | None=None) -> builtins.list[CronJob]:
        """List all cron jobs by name.

        :param enabled: only those that are, or are not.
        """

    def pause(self, name: str) -> CronJob:
        """Disable a cron job; the runs that it misses are not made up for.

        :raises NotFoundError: there is none of this name.
        """

    def resume(self, name: str) -> CronJob:
        """Enable a cron job.

        :raises NotFoundError: there is none of this name.
        """

    def delete(self, name: str) -> None:
        """Remove a cron job; its jobs stay.

        :raises NotFoundError: there is none of this name.
        """

    def trigger(self, name: str) -> CronTrigger:
        """Run a cron job now, under its overlap policy, also while it is disabled.

        Not sent again when the answer is lost: it would run twice.

        :raises NotFoundError: there is none of this name.
        """
class SyncWorkers:
    """:class:`Workers` for code that is not asynchronous."""

    def list(self, *, limit: int=50, cursor: str='') -> WorkerList:
        """List a page of the workers with a heartbeat within the last hour.

        :param cursor: from the page before.
        """

    def get(self, worker_id: str) -> WorkerEntry:
        """Read a worker.

        :raises NotFoundError: it is not known.
        """

    def quiet(self, worker_id: str) -> None:
        """Ask a worker to finish its jobs and fetch no more.

        :raises NotFoundError: it is not known.
        :raises ConflictError: it terminates already.
        """

    def terminate(self, worker_id: str) -> None:
        """Ask a worker to end within its grace period.

        :raises NotFoundError: it is not known.
        """

    def resume(self, worker_id: str) -> None:
        """Ask a quiet worker to fetch again.

        :raises NotFoundError: it is not known.
        :raises ConflictError: it terminates already.
        """

    def quiet_all(self, *, queue: str='', label: str='') -> DirectedWorkers:
        """Quiet the workers that are there now: all, those of a queue, those with a label."""

    def terminate_all(self, *, queue: str='', label: str='') -> DirectedWorkers:
        """Terminate the workers that are there now: all, those of a queue, those with a label."""

    def resume_all(self, *, queue: str='', label: str='') -> DirectedWorkers:
        """Resume the workers that are there now: all, those of a queue, those with a label."""

    def deregister(self, worker_id: str) -> Sequence[str]:
        """Remove a worker that missed its heartbeats.

        :returns: ids of the jobs that went back to their queues.
        :raises NotFoundError: it is not known.
        :raises ConflictError: it still beats.
        """

    def pools(self) -> Sequence[PoolEntry]:
        """List the worker pools by name."""

    def pool(self, name: str) -> PoolEntry:
        """Read a worker pool.

        :raises NotFoundError: there is none of this name.
        """

    def set_pool(self, name: str, queues: Sequence[str] | Mapping[str, int], *, strategy: str='', concurrency: int | None=None) -> PoolEntry:
        """Create a worker pool, or replace it.

        :param queues: names; or their weights, by which each comes first in its share.
        :param strategy: default: ``weighted`` for weights, else ``round-robin``.
        :param concurrency: jobs that its workers may run at a time; shown, not enforced.
        """

    def delete_pool(self, name: str) -> None:
        """Delete a worker pool; its workers fetch from the queues that they name themselves.

        :raises NotFoundError: there is none of this name.
        """
class SyncDeadLetterJobs:
    """:class:`DeadLetterJobs` for code that is not asynchronous."""

    def list(self, *, limit: int=50, cursor: str='', **chosen: Unpack[DeadLetterFilter]) -> DeadLetters:
        """List a page of dead letters, newest first within a queue.

        :param cursor: from the page before. A page may be short, or empty, and yet have one.
        :param chosen: ``queue``, ``type``, ``error_type``, ``since``, ``until``: see
            :class:`DeadLetterFilter`.
        """

    def get(self, job_id: str) -> Job:
        """Read a discarded job with its whole history.

        :raises NotFoundError: there is no such job, or it is not discarded.
        """

    def stats(self) -> Mapping[str, JsonValue]:
        """Count the dead letters: ``total``, ``by_queue``, ``by_error_type`` and more."""

    def retry(self, job_id: str, override: Mapping[str, JsonValue] | None=None) -> Job:
        """Make a discarded job available again: attempt 0, its errors cleared.

        :param override: changes to its envelope: ``queue``, ``args``, ``priority``; ``meta`` and
            ``retry`` are merged.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """

    def delete(self, job_id: str) -> None:
        """Remove a discarded job for good.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not discarded.
        """

    def retry_many(self, *, ids: Sequence[str]=(), limit: int=100, cursor: str='', dry_run: bool=False, as_of: str='', **chosen: Unpack[DeadLetterFilter]) -> BulkResult:
        """Enqueue many dead letters again, at most 100: the named ones, else those that match.

        With neither ids nor filter: all, step by step.

        :param dry_run: change nothing, and say what would be changed; up to a thousand jobs.
        :param as_of: of the dry run: jobs that were discarded after it are left alone.
        :param chosen: as for :meth:`list`.
        """

    def delete_many(self, *, ids: Sequence[str]=(), limit: int=100, cursor: str='', dry_run: bool=False, as_of: str='', **chosen: Unpack[DeadLetterFilter]) -> BulkResult:
        """Remove many dead letters for good, chosen like those of :meth:`retry_many`."""
class SyncWorkflows:
    """:class:`WorkflowOperations` for code that is not asynchronous."""

    def create(self, body: RawJson) -> WorkflowStatus:
        """Send a workflow as it is; ``Client.workflow`` runs the middleware first."""

    def get(self, workflow_id: str) -> WorkflowStatus:
        """Read a workflow with all its steps; one request for each 1,000 of them.

        :raises NotFoundError: there is none.
        """

    def list(self, *, state: str='', limit: int=50, cursor: str='') -> WorkflowList:
        """Read a page of workflows without their steps, the newest first.

        :param state: only those in this state.
        """

    def cancel(self, workflow_id: str) -> WorkflowStatus:
        """Cancel a workflow; jobs that workers execute may end. One that is cancelled stays so.

        :raises NotFoundError: there is none.
        :raises ConflictError: it has completed or failed.
        """

    def wait(self, workflow_id: str, *, timeout_s: float | None=60.0, poll_s: float=0.2, timeout: Duration | None=None) -> WorkflowStatus:
        """Wait until a workflow has completed.

        :param timeout_s: seconds to wait at most; None waits as long as it takes.
        :param poll_s: seconds between the first two requests; the interval grows up to 5 s.
        :param timeout: instead of ``timeout_s``, a duration: ``"30s"``, ``"5m"`` or a timedelta.
        :raises WorkflowFailedError: it failed or was cancelled; the error says why.
        :raises WorkflowWaitTimeoutError: it has not ended in time.
        """
class SyncSchemas:
    """:class:`Schemas` for code that is not asynchronous."""

    def register(self, job_type: str, version: SchemaVersion, schema: Mapping[str, JsonValue], *, uri: str | None=None, exist_ok: bool=True) -> JobSchema:
        """Register a version of a type's schema. Applications may do so at each start.

        :param version: such as ``1``, ``"1.1"`` or ``"2.0.0"``.
        :param schema: JSON Schema, draft 2020-12, of the arguments: an array, or the one object.
        :param exist_ok: whether the very same schema may be registered already.
        :raises InvalidRequestError: it is no JSON Schema, or no version.
        :raises IncompatibleSchemaError: it refuses what the version before accepted, and its
            major version is the same; the details name each breaking change.
        :raises ConflictError: another schema has this version, or this URI.
        """

    def get(self, job_type: str, version: SchemaVersion | None=None) -> JobSchema:
        """Read a version; the latest where none is named.

        :raises NotFoundError: there is none.
        """

    def by_uri(self, uri: str) -> JobSchema:
        """Read the version that jobs name by a URI.

        :raises NotFoundError: there is none.
        """

    def versions(self, job_type: str) -> builtins.list[JobSchema]:
        """List the versions of a type without their schemas, the newest first.

        :raises NotFoundError: it has none.
        """

    def list(self) -> builtins.list[JobSchema]:
        """List all versions of all types, without their schemas."""

    def delete(self, job_type: str, version: SchemaVersion) -> None:
        """Remove a version; jobs that named it stay.

        :raises NotFoundError: there is none.
        """
class SyncSequences:
    """:class:`Sequences` for code that is not asynchronous."""

    def list(self, *, tenant: str='', queue: str='', limit: int=50, cursor: str='') -> SequenceList:
        """List a page of the sequences that are stopped, those stopped first at the begin.

        :param tenant: whose they are; empty for everybody's.
        :param queue: the queue of the discarded job that each is stopped on; empty for any.
        :param cursor: from the page before. A page may be empty, and have one.
        """

    def get(self, key: str, *, tenant: str='') -> SequenceEntry:
        """Read whose turn it is in a sequence.

        :param tenant: whose it is; empty for jobs without a tenant.
        :raises NotFoundError: it is idle.
        """

    def skip(self, key: str, *, tenant: str='') -> SequenceEntry:
        """Let a stopped sequence go on without the discarded job.

        :param tenant: whose it is; empty for jobs without a tenant.
        :returns: the sequence after; as it was, without blocked jobs, if none were left.
        :raises NotFoundError: it is idle.
        :raises ConflictError: the job that has the turn has not ended.
        """
class SyncTenants:
    """:class:`Tenants` for code that is not asynchronous."""

    def list(self, *, limit: int=50, cursor: str='') -> TenantList:
        """List a page of the tenants that jobs name, or for which something is set.

        :param cursor: from the page before.
        """

    def get(self, tenant: str) -> TenantEntry:
        """Read a tenant; one whose jobs were never counted has none.

        :raises InvalidRequestError: no tenant can have this id.
        """

    def stats(self, tenant: str) -> TenantEntry:
        """Count what a tenant has, and what it did in the last 24 hours.

        :raises InvalidRequestError: no tenant can have this id.
        """

    def set(self, tenant: str, limits: Mapping[str, JsonValue]) -> TenantEntry:
        """Set limits of a tenant; those that are not named stay, and None lifts one.

        :param limits: ``max_concurrency``, ``max_queue_depth``, ``max_scheduled`` and
            ``fairness_weight``, and ``max_enqueue_rate``: ``{"limit": 1000, "period": "PT1M"}``.
        :returns: its state and limits, without the counts of its jobs.
        :raises InvalidRequestError: an invalid limit.
        """

    def reset(self, tenant: str) -> None:
        """Remove all limits of a tenant, and end its suspension.

        :raises InvalidRequestError: no tenant can have this id.
        """

    def suspend(self, tenant: str) -> TenantEntry:
        """Refuse a tenant's new jobs, and let none of its jobs begin, within five seconds.

        Jobs that run go on.

        :returns: its state and limits, without the counts of its jobs.
        :raises InvalidRequestError: no tenant can have this id.
        """

    def resume(self, tenant: str) -> TenantEntry:
        """Let a suspended tenant go on, with the limits that it had.

        :returns: its state and limits, without the counts of its jobs.
        :raises InvalidRequestError: no tenant can have this id.
        """
class SyncRateLimits:
    """:class:`RateLimits` for code that is not asynchronous."""

    def list(self, *, limit: int=50, cursor: str='') -> LimitList:
        """List a page of limits by key.

        :param cursor: from the page before.
        """

    def get(self, key: str) -> LimitEntry:
        """Read a limit.

        :raises NotFoundError: no job has named it, and nobody has set it.
        """

    def set(self, key: str, policy: Mapping[str, JsonValue]) -> LimitEntry:
        """Set the limit of a key, whatever jobs name.

        :param policy: such as ``{"concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}}``.
        :raises InvalidRequestError: an invalid policy.
        """

    def remove(self, key: str) -> None:
        """Remove what was set for a key: the limits that jobs name apply again.

        :raises NotFoundError: nobody has set it.
        """
class SyncQueues:
    """:class:`Queues` for code that is not asynchronous."""

    def list(self) -> builtins.list[QueueEntry]:
        """List all queues that are declared or were used, by name."""

    def get(self, name: str) -> QueueDetail:
        """Read a queue: what it holds, how long its jobs wait, and what it did in the last hour.

        :raises NotFoundError: there is no such queue.
        """

    def stats(self, name: str) -> QueueNumbers:
        """Count the jobs of a queue.

        :raises NotFoundError: there is no such queue.
        """

    def priorities(self, name: str) -> Mapping[int, int]:
        """Count the available jobs of a queue in each priority, the highest first.

        :raises NotFoundError: there is no such queue.
        """

    def pause(self, name: str) -> QueueEntry:
        """Stop fetches from a queue; active jobs go on, and jobs may still be enqueued."""

    def resume(self, name: str) -> QueueEntry:
        """Allow fetches from a queue again.

        :raises NotFoundError: there is no such queue.
        """

    def create(self, name: str, config: Mapping[str, JsonValue] | None=None) -> QueueSettings:
        """Create a queue with settings of its own; a queue needs none to be used.

        :param config: such as ``{"max_size": 1000, "visibility_timeout": 60}``.
        :raises ConflictError: there is such a queue, maybe made by a call whose answer was lost.
        :raises InvalidRequestError: an invalid setting; nothing is created.
        """

    def settings(self, name: str) -> QueueSettings:
        """Read the settings of a queue; ``_default`` is the policy for queues without their own.

        :raises NotFoundError: there is no such queue.
        """

    def configure(self, name: str, changes: Mapping[str, JsonValue]) -> QueueSettings:
        """Change settings: those that are named are set, ``None`` removes one.

        :raises InvalidRequestError: an invalid setting; nothing is changed.
        """

    def drain(self, name: str) -> QueueSettings:
        """Refuse new jobs; workers go on with those that are there. A resume ends it.

        :raises NotFoundError: there is no such queue.
        """

    def delete(self, name: str) -> None:
        """Delete a queue that has no jobs left to run, with its settings.

        :raises ConflictError: there are jobs left, or the deployment declares the queue.
        :raises NotFoundError: there is no such queue.
        """

    def limit(self, name: str, policy: Mapping[str, JsonValue] | None) -> Mapping[str, JsonValue]:
        """Limit how the jobs of a queue start, or end the limit.

        :param policy: such as ``{"concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}}``;
            None ends the limit.
        :returns: the limit and what it counts, as the backend describes it.
        :raises InvalidRequestError: an invalid policy.
        """

    def bindings(self, name: str) -> Sequence[BindingEntry]:
        """List the bindings that a queue has, or may have.

        :raises NotFoundError: there is no such queue.
        """

    def binding(self, name: str, binding: str) -> BindingEntry:
        """Read a binding of a queue.

        :raises NotFoundError: the stack allows the queue no such binding.
        """

    def set_binding(self, name: str, binding: str, job_types: Sequence[str], *, endpoint: str | None=None, config: Mapping[str, JsonValue] | None=None) -> BindingEntry:
        """Register the job types that a binding runs, if the stack allows it.

        :param job_types: ``"email.send"``, ``"email.*"``, or ``"*"`` for all.
        :param endpoint: the URL that gets the jobs, below a prefix that the stack allows; None for
            a function or a task.
        :param config: how its jobs run, such as ``{"timeout_ms": 30000, "retry":
            {"non_retryable_errors": ["exit.3"]}}``; None for as the stack says.
        :raises NotFoundError: the stack allows the queue no such binding.
        :raises ConflictError: another binding of the queue serves one of them.
        :raises InvalidRequestError: the stack does not allow the URL, or it is no config.
        """

    def delete_binding(self, name: str, binding: str) -> BindingEntry:
        """Forget what was registered for a binding: what the stack says holds again.

        :raises NotFoundError: the stack allows the queue no such binding, or none are registered.
        """

    def suspend_binding(self, name: str, binding: str) -> BindingEntry:
        """Suspend a binding: its jobs wait until it is resumed.

        :raises NotFoundError: the stack allows the queue no such binding.
        """

    def resume_binding(self, name: str, binding: str) -> BindingEntry:
        """Resume a binding: new jobs are dispatched at once, those that waited within minutes.

        :raises NotFoundError: the stack allows the queue no such binding.
        """

    def purge(self, name: str, states: Sequence[str], *, older_than: datetime | None=None, dry_run: bool=False, cursor: str='') -> Purged:
        """Purge the next jobs of a queue: those that ended are deleted, others cancelled.

        :param states: which jobs; active ones cannot be purged.
        :param older_than: only jobs that ended before; an aware datetime.
        :param dry_run: change nothing, and count what would be changed.
        :param cursor: of the call before; go on until it is empty.
        :raises NotFoundError: there is no such queue.
        """
class SyncJobs:
    """:class:`Jobs` for code that is not asynchronous; bulk changes go on by their cursor."""

    def list(self, *, oldest_first: bool=False, limit: int=50, cursor: str='', **chosen: Unpack[JobFilter]) -> JobPage:
        """List a page of jobs, queue by queue and list by list.

        :param cursor: from the page before, for the same filter.
        :param chosen: ``queue``, ``states``, ``type``, ``since``, ``until``, ``tag``, ``error``:
            see :class:`JobFilter`.
        """

    def detail(self, job_id: str, *, events: bool=False) -> Mapping[str, JsonValue]:
        """Read everything that is known of a job: its members, and ``history``.

        :param events: its events from the log as well, as ``events``.
        :raises NotFoundError: there is no such job.
        """

    def why(self, job_id: str) -> JobDiagnosis:
        """Ask why a job does not run now: what holds it back, and until when.

        :raises NotFoundError: there is no such job.
        """

    def cancel(self, job_id: str) -> JobEntry:
        """Cancel a job.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it has ended.
        """

    def retry(self, job_id: str) -> JobEntry:
        """Make a discarded job available again, with attempt 0; a retryable one at once.

        Not sent twice: it may have died again meanwhile.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is in another state.
        """

    def reprioritise(self, job_id: str, priority: int) -> JobEntry:
        """Change the priority of a job that is available, scheduled or pending.

        :param priority: -100 to 100; the higher is served first.
        :raises InvalidRequestError: another priority.
        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is in another state.
        """

    def change_some(self, action: BulkAction, *, dry_run: bool=False, limit: int=100, cursor: str='', as_of: str='', **chosen: Unpack[JobFilter]) -> JobBulkResult:
        """Retry, cancel or delete the next jobs of a filter, at most a hundred; go on by cursor.

        :param dry_run: change nothing, and say what would be changed; up to a thousand jobs.
        :param as_of: of the dry run: jobs that came into their state after it are left alone.
        :param chosen: as for :meth:`list`.
        :raises InvalidRequestError: no filter, or a state that the action is impossible in.
        """

    def change_named(self, action: BulkAction, job_ids: Sequence[str]) -> JobBulkResult:
        """Retry, cancel or delete the jobs with these ids: as far as their states allow it.

        So exactly the jobs of a dry run are changed, even those that began another attempt since.

        :param job_ids: up to a hundred.
        :raises InvalidRequestError: no ids, or one that is named twice.
        """

    def reprioritise_some(self, priority: int, *, dry_run: bool=False, limit: int=100, cursor: str='', as_of: str='', **chosen: Unpack[JobFilter]) -> JobBulkResult:
        """Give the next jobs of a filter that wait to begin a priority; go on by cursor.

        Jobs that have it already are left out. Parameters as of :meth:`change_some`.

        :param priority: -100 to 100; the higher is served first.
        :raises InvalidRequestError: another priority, no filter, or another state.
        """
class SyncEvents:
    """:class:`Events` for code that is not asynchronous."""

    def read(self, *, since: datetime | None=None, limit: int=100, cursor: str='', **chosen: Unpack[EventFilter]) -> EventList:
        """Read a page. Without ``since`` and cursor it ends with the newest event.

        :param since: an aware datetime.
        :param chosen: ``types``, ``queues``, ``job_types``, ``job_ids``: see :class:`EventFilter`.
        """
class SyncSystem:
    """:class:`System` for code that is not asynchronous."""

    def stats(self) -> Mapping[str, JsonValue]:
        """Count all jobs (``jobs``, by state), ``workers``, ``throughput`` and more.

        ``is_exact`` is False where a number is at least what is said.
        """

    def overview(self) -> Mapping[str, JsonValue]:
        """Read what operators look at first, in a few calls whatever the number of queues.

        ``totals`` is what :meth:`stats` answers; ``queues`` has the hundred queues with the most
        available jobs, each with ``counts``, ``depth`` and ``throughput``; ``sweep`` its health,
        and ``events`` how late changes are counted. ``latency_ms`` and ``duration_ms`` have
        percentiles of how long jobs waited and ran in the last five to ten minutes, of all queues
        and of each. ``oldest_available_at`` is the longest wait that the last sweep found.
        """

    def findings(self, *, advice: bool=False) -> FindingsReport:
        """Ask what needs attention: late sweeps, old jobs, failures, silent workers.

        :param advice: ask which wide queues have far more lines than they need, too: the check
            ``lines``.
        """

    def errors(self, *, queue: str='', since: datetime | None=None, limit: int=50) -> ErrorReport:
        """Group the failures of jobs by error type and kind of message.

        :param since: counted from the begin of its hour; an hour ago by default, at most a week.
        :raises InvalidRequestError: it is longer ago.
        """

    def history(self, period: str='5m', *, queue: str='', since: datetime | None=None, until: datetime | None=None) -> Sequence[Mapping[str, JsonValue]]:
        """Count the jobs ``completed`` and ``failed`` in each period, the oldest one first.

        :param period: ``1m``, ``5m``, ``1h`` or ``1d``.
        :param since: an hour ago by default.
        :raises InvalidRequestError: too many points for one request.
        """

    def config(self) -> Mapping[str, JsonValue]:
        """Read the ``settings`` of the backend and its ``implementation``; no secrets."""

    def whoami(self) -> Caller:
        """Read what the server knows of the caller: name, scopes and bounds."""

    def api_keys(self) -> Sequence[ApiKeyEntry]:
        """List the API keys by id; needs an administrator's key.

        :raises NotFoundError: the deployment finds its callers in another way.
        """

    def revoke_api_key(self, key_id: str) -> ApiKeyEntry:
        """Revoke an API key; the gateway may accept it for some minutes more.

        :raises NotFoundError: there is no such key.
        :raises ConflictError: somebody else changed it at the same time.
        """
class SyncJobHandle:
    """:class:`JobHandle` for code that is not asynchronous."""

    @property
    def id(self) -> str:
        """Return the id of the job."""

    def get(self) -> Job:
        """Read the job; see :meth:`Client.get`."""

    def result(self, *, timeout_s: float | None=60.0, poll_s: float=0.2, timeout: Duration | None=None) -> JsonValue:
        """Wait for its result; see :meth:`Client.result`."""

    def progress(self) -> JobProgress:
        """Return its latest progress; see :meth:`Client.progress`."""

    def cancel(self) -> Job:
        """Cancel it; see :meth:`Client.cancel`."""
class SyncClient:
    """:class:`Client` for code that is not asynchronous: the same methods without ``await``.

    May be shared by threads, and used where an event loop is running (which it then blocks).

    Example::

        with SyncClient("https://jobs.example.com") as client:
            client.enqueue("email.send", ["user@example.com", "welcome"])
    """

    def __init__(self, url: str | None=None, *, client: Client | None=None, api_key: str | None=None, credentials: Credentials | None=None, headers: Mapping[str, str] | None=None, middleware: EnqueueChain | Iterable[object] | None=None, hooks: Hooks | Iterable[object]=(), timeout_s: float=15.0, resends: Resends | None=None) -> None:
        """Describe the client as :class:`Client` does, or wrap one that is used nowhere else.

        :raises ValueError: not exactly one of ``url`` and ``client``, or no usable URL.
        """

    @classmethod
    def direct(cls, *, backend: Backend | None=None, settings: Settings | None=None, endpoint_url: str | None=None, region: str | None=None, middleware: EnqueueChain | Iterable[object] | None=None, hooks: Hooks | Iterable[object]=()) -> Self:
        """See :meth:`Client.direct`."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None=None, *, middleware: EnqueueChain | Iterable[object] | None=None, hooks: Hooks | Iterable[object]=()) -> Self:
        """See :meth:`Client.from_env`."""

    def job(self, job: Job | EnqueueResult | str) -> SyncJobHandle:
        """Return a handle of a job: ``client.job(client.enqueue(...)).result()``."""

    def use(self) -> AbstractContextManager[Self]:
        """Send the typed jobs of this thread by this client: ``with client.use(): ...``."""

    def __enter__(self) -> Self:
        """Return the client itself."""

    def __exit__(self, *_: object) -> None:
        """Close the client."""

    def close(self) -> None:
        """Close the connections and end the private event loop."""
    admin: SyncAdmin
    'Operations for operators: dead letters, queues, health.'
    workflows: SyncWorkflows
    'Read, list, cancel and wait for workflows.'
    cron: SyncCronJobs
    'Register, read, pause, trigger and remove cron jobs.'
    schemas: SyncSchemas
    'Register, read and remove the schemas of job types.'
    queues: SyncQueues
    'Read, create, configure, pause, drain and purge queues.'
    rate_limits: SyncRateLimits
    'Read, set and remove the limits on how jobs begin.'
    sequences: SyncSequences
    'Read whose turn it is in sequences, and let stopped ones go on.'
    tenants: SyncTenants
    'Read what tenants have and did.'
    workers: SyncWorkers
    'List workers, and send them directives.'
    dead_letter: SyncDeadLetterJobs
    'Inspect, retry and remove dead letters.'
    jobs: SyncJobs
    'Find jobs, read their history, and retry, cancel and delete them in bulk.'
    events: SyncEvents
    'Read and follow the log of lifecycle events.'
    system: SyncSystem
    'Read the statistics and settings of the whole deployment.'

    @property
    def middleware(self) -> EnqueueChain:
        """Return the enqueue chain; another one can be assigned until it freezes."""

    @middleware.setter
    def middleware(self, chain: EnqueueChain) -> None:
        ...

    @property
    def hooks(self) -> Hooks:
        """Return the hooks, which freeze with the chain; others can be assigned until then."""

    @hooks.setter
    def hooks(self, hooks: Hooks) -> None:
        ...

    def enqueue(self, job: Job | AsJob | str, args: Sequence[JsonValue]=(), **attributes: Unpack[JobAttributes]) -> EnqueueResult:
        """Enqueue one job: ``enqueue("email.send", ["user@example.com"], queue="email")``.

        The id is made here, so that a job which is sent again after a lost answer exists once.

        :param job: type of the job, or a whole job or call (then without ``args`` and attributes).
        :returns: whether it was enqueued, or which middleware dropped it.
        :raises InvalidRequestError: a constraint of the envelope is broken.
        :raises OjsError: the backend refused the job, or could not be reached.
        :raises Exception: whatever a middleware raised; nothing was enqueued.
        """

    def enqueue_many(self, jobs: Iterable[Job | AsJob], *, atomic: bool=False) -> builtins.list[EnqueueResult]:
        """Enqueue several jobs, or some thousands, each through its own run of the middleware.

        Jobs that come through go to the backend as one atomic batch, in one request; it is never
        split, so that it is stored whole or not at all. Of the others, the results
        say what happened; with ``atomic=True`` one such job stops the whole batch.

        :returns: the outcome of each job, in the order of the jobs.
        :raises BatchRejectedError: atomic, and the middleware dropped or failed a job.
        :raises OjsError: the backend refused the batch (``details["index"]`` names the job);
            nothing was enqueued.
        :raises PayloadTooLargeError: more jobs, or bytes, than one batch may have; the details say
            how many it may. Nothing was enqueued: send several batches.
        """

    def transact_item(self, job: Job | AsJob | str, args: Sequence[JsonValue]=(), **attributes: Unpack[JobAttributes]) -> TransactItems:
        """Prepare one job for a DynamoDB transaction of your own, beside your own writes.

        The job exists exactly if the transaction commits; its message follows by itself. The
        enqueue middleware and the hooks run here, before the transaction.

        :returns: the entries to add to ``TransactItems`` of TransactWriteItems, and the job.
        :raises RuntimeError: the client goes over HTTP; transactions need :meth:`direct`.
        :raises PayloadTooLargeError: the job does not fit into the table.
        :raises OjsError: as :meth:`enqueue`.
        """

    def prepare(self, job: Job | AsJob | str, args: Sequence[JsonValue]=(), **attributes: Unpack[JobAttributes]) -> PreparedJob:
        """Bring one job through the enqueue middleware and the hooks, and send nothing.

        An outbox keeps such a job, and sends it later as it is, past the middleware.

        :raises Exception: as :meth:`enqueue`, but for what the backend refuses.
        """

    def enqueue_prepared(self, jobs: Iterable[Job]) -> builtins.list[EnqueueResult]:
        """Enqueue jobs that :meth:`prepare` returned, past the middleware and the hooks.

        :raises OjsError: as :meth:`enqueue_many`; nothing was enqueued.
        """

    def workflow(self, parts: WorkflowParts | AsWorkflow, *, id: str | None=None) -> WorkflowStatus:
        """Start a workflow: ``workflow(chain(a, group(b, c), d))``.

        Every job passes the enqueue middleware now, also those that begin later.

        :param id: of the workflow; made here when it is left out, so that a workflow which is
            sent again after a lost answer exists once.
        :raises BatchRejectedError: a middleware dropped or failed a job; nothing was started.
        :raises InvalidWorkflowError: the backend cannot follow it; the details say why.
        """

    def get(self, job_id: str) -> Job:
        """Read a job.

        :raises NotFoundError: there is no such job.
        """

    def cancel(self, job_id: str) -> Job:
        """Cancel a job that has not ended; one that is cancelled already stays so.

        A worker that executes it learns so with its next heartbeat.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is completed or discarded.
        """

    def activate(self, job_id: str) -> Job:
        """Make a job available that was enqueued with ``pending=True``.

        :raises NotFoundError: there is no such job.
        :raises ConflictError: it is not pending.
        """

    def result(self, job_id: str, *, timeout_s: float | None=60.0, poll_s: float=0.2, timeout: Duration | None=None) -> JsonValue:
        """Wait until a job has ended, and return its result.

        :param timeout_s: seconds to wait at most; None waits as long as it takes.
        :param poll_s: seconds between the first two requests; the interval grows up to 5 s. A
            server that waits by itself is not asked more often.
        :param timeout: instead of ``timeout_s``, a duration: ``"30s"``, ``"5m"`` or a timedelta.
        :raises JobFailedError: it was discarded; the error says why.
        :raises JobExpiredError: it expired before any worker executed it; a JobFailedError, too.
        :raises JobCancelledError: it was cancelled.
        :raises WaitTimeoutError: it has not ended in time.
        :raises ResultPrunedError: it has ended, and its outcome is not kept any more.
        :raises NotFoundError: there is no such job.
        """

    def wait(self, job_id: str, *, timeout_s: float | None=60.0, poll_s: float=0.2, timeout: Duration | None=None) -> JsonValue:
        """Do the same as :meth:`result`."""

    def results(self, job_ids: Iterable[str]) -> dict[str, JobOutcome | None]:
        """Return the outcomes of up to 100 jobs, as of now; None for one that does not exist.

        :raises InvalidRequestError: no ids, or too many.
        :raises PayloadTooLargeError: their results are more than one answer holds.
        """

    def progress(self, job_id: str) -> JobProgress:
        """Return the latest progress that a job reported.

        :raises NotFoundError: there is no such job.
        """

    def checkpoint(self, job_id: str) -> JobCheckpoint | None:
        """Return the checkpoint that the next attempt of a job starts from; None without one.

        :raises NotFoundError: there is no such job.
        """

    def clear_checkpoint(self, job_id: str) -> None:
        """Delete the checkpoint of a job: its next attempt starts from the beginning.

        :raises NotFoundError: there is no such job.
        """
