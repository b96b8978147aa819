"""Import the client from here: ``Client``, ``SyncClient``, and what they return and raise.

Each name is imported when it is first used: a Lambda worker needs only some of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.client.areas.cron import CronJob as CronJob
    from ojs_aws.client.areas.cron import CronJobs as CronJobs
    from ojs_aws.client.areas.cron import CronTrigger as CronTrigger
    from ojs_aws.client.areas.dead_letters import Admin as Admin
    from ojs_aws.client.areas.dead_letters import BulkResult as BulkResult
    from ojs_aws.client.areas.dead_letters import DeadLetterJobs as DeadLetterJobs
    from ojs_aws.client.areas.entries import BindingEntry as BindingEntry
    from ojs_aws.client.areas.entries import BulkOutcome as BulkOutcome
    from ojs_aws.client.areas.entries import JobBulkResult as JobBulkResult
    from ojs_aws.client.areas.entries import JobDiagnosis as JobDiagnosis
    from ojs_aws.client.areas.entries import JobEntry as JobEntry
    from ojs_aws.client.areas.entries import JobPage as JobPage
    from ojs_aws.client.areas.entries import JobReason as JobReason
    from ojs_aws.client.areas.entries import Purged as Purged
    from ojs_aws.client.areas.entries import QueueDetail as QueueDetail
    from ojs_aws.client.areas.entries import QueueEntry as QueueEntry
    from ojs_aws.client.areas.entries import QueueNumbers as QueueNumbers
    from ojs_aws.client.areas.entries import QueueSettings as QueueSettings
    from ojs_aws.client.areas.events import EventList as EventList
    from ojs_aws.client.areas.events import Events as Events
    from ojs_aws.client.areas.jobs import Jobs as Jobs
    from ojs_aws.client.areas.limits import LimitEntry as LimitEntry
    from ojs_aws.client.areas.limits import LimitList as LimitList
    from ojs_aws.client.areas.limits import RateLimits as RateLimits
    from ojs_aws.client.areas.outcomes import JobCheckpoint as JobCheckpoint
    from ojs_aws.client.areas.outcomes import JobOutcome as JobOutcome
    from ojs_aws.client.areas.outcomes import JobProgress as JobProgress
    from ojs_aws.client.areas.queues import Queues as Queues
    from ojs_aws.client.areas.schemas import JobSchema as JobSchema
    from ojs_aws.client.areas.schemas import Schemas as Schemas
    from ojs_aws.client.areas.sequences import SequenceEntry as SequenceEntry
    from ojs_aws.client.areas.sequences import SequenceList as SequenceList
    from ojs_aws.client.areas.sequences import Sequences as Sequences
    from ojs_aws.client.areas.system import Caller as Caller
    from ojs_aws.client.areas.system import System as System
    from ojs_aws.client.areas.tenants import TenantEntry as TenantEntry
    from ojs_aws.client.areas.tenants import TenantList as TenantList
    from ojs_aws.client.areas.tenants import Tenants as Tenants
    from ojs_aws.client.areas.workers import DirectedWorkers as DirectedWorkers
    from ojs_aws.client.areas.workers import WorkerEntry as WorkerEntry
    from ojs_aws.client.areas.workers import WorkerList as WorkerList
    from ojs_aws.client.areas.workers import Workers as Workers
    from ojs_aws.client.areas.workflow_parts import WorkflowParts as WorkflowParts
    from ojs_aws.client.areas.workflow_parts import batch as batch
    from ojs_aws.client.areas.workflow_parts import chain as chain
    from ojs_aws.client.areas.workflow_parts import dag as dag
    from ojs_aws.client.areas.workflow_parts import group as group
    from ojs_aws.client.areas.workflows import WorkflowFailedError as WorkflowFailedError
    from ojs_aws.client.areas.workflows import WorkflowList as WorkflowList
    from ojs_aws.client.areas.workflows import WorkflowOperations as WorkflowOperations
    from ojs_aws.client.areas.workflows import WorkflowStatus as WorkflowStatus
    from ojs_aws.client.areas.workflows import WorkflowWaitTimeoutError as WorkflowWaitTimeoutError
    from ojs_aws.client.client import Client as Client
    from ojs_aws.client.policies import RateLimit as RateLimit
    from ojs_aws.client.policies import RetryPolicy as RetryPolicy
    from ojs_aws.client.policies import UniquePolicy as UniquePolicy
    from ojs_aws.client.results import BatchRejectedError as BatchRejectedError
    from ojs_aws.client.results import DeadLetters as DeadLetters
    from ojs_aws.client.results import EnqueueResult as EnqueueResult
    from ojs_aws.client.results import EnqueueStatus as EnqueueStatus
    from ojs_aws.client.results import JobCancelledError as JobCancelledError
    from ojs_aws.client.results import JobExpiredError as JobExpiredError
    from ojs_aws.client.results import JobFailedError as JobFailedError
    from ojs_aws.client.results import Stored as Stored
    from ojs_aws.client.results import WaitTimeoutError as WaitTimeoutError
    from ojs_aws.client.single_jobs import JobHandle as JobHandle
    from ojs_aws.client.sync import SyncAdmin as SyncAdmin
    from ojs_aws.client.sync import SyncClient as SyncClient
    from ojs_aws.client.sync import SyncCronJobs as SyncCronJobs
    from ojs_aws.client.sync import SyncDeadLetterJobs as SyncDeadLetterJobs
    from ojs_aws.client.sync import SyncEvents as SyncEvents
    from ojs_aws.client.sync import SyncJobHandle as SyncJobHandle
    from ojs_aws.client.sync import SyncJobs as SyncJobs
    from ojs_aws.client.sync import SyncQueues as SyncQueues
    from ojs_aws.client.sync import SyncRateLimits as SyncRateLimits
    from ojs_aws.client.sync import SyncSchemas as SyncSchemas
    from ojs_aws.client.sync import SyncSequences as SyncSequences
    from ojs_aws.client.sync import SyncSystem as SyncSystem
    from ojs_aws.client.sync import SyncTenants as SyncTenants
    from ojs_aws.client.sync import SyncWorkers as SyncWorkers
    from ojs_aws.client.sync import SyncWorkflows as SyncWorkflows
    from ojs_aws.client.transports.connection import HttpConnection as HttpConnection
    from ojs_aws.client.transports.connection import Resends as Resends
    from ojs_aws.client.transports.credentials import ApiKey as ApiKey
    from ojs_aws.client.transports.credentials import Credentials as Credentials
    from ojs_aws.client.transports.credentials import SigV4 as SigV4
    from ojs_aws.client.transports.requests import Transport as Transport
else:
    __getattr__, __dir__ = lazy_exports(__name__)
